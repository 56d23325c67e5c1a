// A controller as people write them with controller-runtime, to be run against a kapy plane.
//
// It counts for each Herd the Machines of the Cluster that the Herd names, tells the number in the
// Herd's status, in a ConfigMap that it applies, and in an event; a finalizer of its own sees to the
// end of the ConfigMap. One of several processes leads.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/go-logr/logr/funcr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	finalizer  = "foreign.example.dev/manager"
	manager    = "foreign-manager"
	ofHerd     = "spec.cluster"
	ofMachine  = "spec.clusterName"
	leaseTime  = 3 * time.Second
	renewTime  = 2 * time.Second
	retryTime  = 300 * time.Millisecond
	exitFailed = 1
)

var (
	herds    = schema.GroupVersionKind{Group: "example.dev", Version: "v1", Kind: "Herd"}
	clusters = schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Cluster"}
	machines = schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Machine"}
)

func main() {
	identity := flag.String("identity", "", "said in what is applied")
	namespace := flag.String("lease-namespace", "default", "where the Lease is")
	flag.Parse()
	ctrl.SetLogger(funcr.New(func(prefix, args string) {
		fmt.Fprintln(os.Stderr, prefix, args)
	}, funcr.Options{}))
	if err := run(*identity, *namespace); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitFailed)
	}
}

func run(identity, namespace string) error {
	lease, renew, retry := leaseTime, renewTime, retryTime
	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Metrics:                       server.Options{BindAddress: "0"},
		LeaderElection:                true,
		LeaderElectionID:              manager,
		LeaderElectionNamespace:       namespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &lease,
		RenewDeadline:                 &renew,
		RetryPeriod:                   &retry,
		// What is unstructured is read from the cache, too.
		Client: client.Options{Cache: &client.CacheOptions{Unstructured: true}},
	})
	if err != nil {
		return err
	}
	ctx := ctrl.SetupSignalHandler()
	if err := index(ctx, mgr); err != nil {
		return err
	}
	counting := &counter{Client: mgr.GetClient(), events: mgr.GetEventRecorder(manager), identity: identity}
	if err := counting.setUp(mgr); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// index lets Herds be found by their cluster, and Machines by theirs, in the cache.
func index(ctx context.Context, mgr ctrl.Manager) error {
	for kind, field := range map[schema.GroupVersionKind]string{herds: ofHerd, machines: ofMachine} {
		err := mgr.GetFieldIndexer().IndexField(ctx, object(kind), field, func(one client.Object) []string {
			path := map[string][]string{ofHerd: {"spec", "cluster"}, ofMachine: {"spec", "clusterName"}}[field]
			found, _, _ := unstructured.NestedString(one.(*unstructured.Unstructured).Object, path...)
			return []string{found}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

type counter struct {
	client.Client
	events   events.EventRecorder
	identity string
}

func (c *counter) setUp(mgr ctrl.Manager) error {
	cluster := &metav1.PartialObjectMetadata{}
	cluster.SetGroupVersionKind(clusters)
	return ctrl.NewControllerManagedBy(mgr).
		Named("herd").
		For(object(herds)).
		Owns(&corev1.ConfigMap{}).
		Watches(object(machines), handler.EnqueueRequestsFromMapFunc(c.herdsOfMachine)).
		WatchesMetadata(cluster, handler.EnqueueRequestsFromMapFunc(c.herdsOfCluster), builder.OnlyMetadata).
		Complete(c)
}

func (c *counter) herdsOfMachine(ctx context.Context, machine client.Object) []reconcile.Request {
	name, _, _ := unstructured.NestedString(machine.(*unstructured.Unstructured).Object, "spec", "clusterName")
	return c.herdsOf(ctx, machine.GetNamespace(), name)
}

func (c *counter) herdsOfCluster(ctx context.Context, cluster client.Object) []reconcile.Request {
	return c.herdsOf(ctx, cluster.GetNamespace(), cluster.GetName())
}

func (c *counter) herdsOf(ctx context.Context, namespace, cluster string) []reconcile.Request {
	found := list(herds)
	if err := c.List(ctx, found, client.InNamespace(namespace), client.MatchingFields{ofHerd: cluster}); err != nil {
		return nil
	}
	asked := make([]reconcile.Request, 0, len(found.Items))
	for _, one := range found.Items {
		asked = append(asked, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&one)})
	}
	return asked
}

// Reconcile brings one Herd, its ConfigMap and its status up to date.
func (c *counter) Reconcile(ctx context.Context, asked reconcile.Request) (ctrl.Result, error) {
	herd := object(herds)
	if err := c.Get(ctx, asked.NamespacedName, herd); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !herd.GetDeletionTimestamp().IsZero() {
		return ctrl.Result{}, c.end(ctx, herd)
	}
	if !controllerutil.ContainsFinalizer(herd, finalizer) {
		before := herd.DeepCopy()
		controllerutil.AddFinalizer(herd, finalizer)
		return ctrl.Result{}, c.Patch(ctx, herd, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	}
	cluster, _, _ := unstructured.NestedString(herd.Object, "spec", "cluster")
	found := list(machines)
	if err := c.List(ctx, found, client.InNamespace(herd.GetNamespace()), client.MatchingFields{ofMachine: cluster}); err != nil {
		return ctrl.Result{}, err
	}
	if err := c.apply(ctx, herd, len(found.Items)); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, c.tell(ctx, herd, len(found.Items))
}

// apply writes the ConfigMap by server-side apply.
func (c *counter) apply(ctx context.Context, herd *unstructured.Unstructured, count int) error {
	wanted := object(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
	wanted.SetName(herd.GetName())
	wanted.SetNamespace(herd.GetNamespace())
	if err := controllerutil.SetControllerReference(herd, wanted, c.Scheme()); err != nil {
		return err
	}
	allowed, err := c.allowed(ctx, herd.GetNamespace())
	if err != nil {
		return err
	}
	said := map[string]any{"machines": strconv.Itoa(count), "by": c.identity, "allowed": strconv.FormatBool(allowed)}
	if err := unstructured.SetNestedMap(wanted.Object, said, "data"); err != nil {
		return err
	}
	return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), client.FieldOwner(manager), client.ForceOwnership)
}

// allowed asks for a token of the namespace's default account, and what it says of its user; both
// questions, like all of Kubernetes' own kinds, travel as protobuf.
func (c *counter) allowed(ctx context.Context, namespace string) (bool, error) {
	account := &corev1.ServiceAccount{}
	account.SetName("default")
	account.SetNamespace(namespace)
	token := &authenticationv1.TokenRequest{}
	if err := c.SubResource("token").Create(ctx, account, token); err != nil {
		return false, err
	}
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token.Status.Token}}
	if err := c.Create(ctx, review); err != nil {
		return false, err
	}
	user := review.Status.User
	access := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:               user.Username,
		Groups:             user.Groups,
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "list", Resource: "secrets", Namespace: namespace},
	}}
	err := c.Create(ctx, access)
	return access.Status.Allowed, err
}

// tell patches the status, and says so in an event when the number changes.
func (c *counter) tell(ctx context.Context, herd *unstructured.Unstructured, count int) error {
	told, known, _ := unstructured.NestedInt64(herd.Object, "status", "machines")
	if known && told == int64(count) {
		return nil
	}
	before := herd.DeepCopy()
	if err := unstructured.SetNestedField(herd.Object, int64(count), "status", "machines"); err != nil {
		return err
	}
	if err := c.Status().Patch(ctx, herd, client.MergeFrom(before)); err != nil {
		return err
	}
	c.events.Eventf(herd, nil, corev1.EventTypeNormal, "Counted", "Count", "%d machines", count)
	return nil
}

// end deletes the ConfigMap, which is typed and read from the cache, then lets the Herd go.
func (c *counter) end(ctx context.Context, herd *unstructured.Unstructured) error {
	config := &corev1.ConfigMap{}
	key := types.NamespacedName{Namespace: herd.GetNamespace(), Name: herd.GetName()}
	if err := c.Get(ctx, key, config); err == nil {
		config.Data["by"] = "the end"
		if err := c.Update(ctx, config); err != nil {
			return err
		}
		if err := c.Delete(ctx, config, client.Preconditions{UID: &config.UID}); err != nil {
			return client.IgnoreNotFound(err)
		}
	} else if !errors.IsNotFound(err) {
		return err
	}
	if controllerutil.RemoveFinalizer(herd, finalizer) {
		return client.IgnoreNotFound(c.Update(ctx, herd))
	}
	return nil
}

func object(kind schema.GroupVersionKind) *unstructured.Unstructured {
	one := &unstructured.Unstructured{}
	one.SetGroupVersionKind(kind)
	return one
}

func list(kind schema.GroupVersionKind) *unstructured.UnstructuredList {
	found := &unstructured.UnstructuredList{}
	found.SetGroupVersionKind(kind)
	return found
}
