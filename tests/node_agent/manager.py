"""A provider's manager in few lines: probes, a webhook over TLS, and a request to its API server.

Run as a program, it says on its log what it found, one JSON object a line.
"""

from __future__ import annotations

import argparse
import json
import os
import ssl
import sys
import tempfile
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


def tell(**what: Any) -> None:
    print(json.dumps(what), flush=True)  # noqa: T201


class Probes(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path in ("/healthz", "/readyz") else 404)
        self.end_headers()

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


class Webhook(Probes):
    """Refuses objects that are called `bad`."""

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["content-length"])))
        request = review["request"]
        response = {"uid": request["uid"], "allowed": request["name"] != "bad"}
        response["status"] = {"message": "it is bad"}
        body = json.dumps({**review, "request": None, "response": response}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def code_of(path: str) -> int:
    """Return the status of the API server's answer to the ServiceAccount of this program."""
    access = json.loads(_kubeconfig())
    headers = {"Authorization": "Bearer " + Path(access["token"]).read_text()}
    trust = ssl.create_default_context(cafile=access["ca"])
    request = urllib.request.Request(access["server"] + path, headers=headers)
    try:
        with urllib.request.urlopen(request, context=trust) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def _kubeconfig() -> str:
    """The lines of the kubeconfig that matter, without a YAML parser."""
    text = Path(os.environ["KUBECONFIG"]).read_text()
    words = text.replace("\n", " ").split()
    keys = {"token": "tokenFile:", "ca": "certificate-authority:", "server": "server:"}
    return json.dumps({name: words[words.index(key) + 1] for name, key in keys.items()})


def serve(
    address: tuple[str, int], handler: type[BaseHTTPRequestHandler], folder: Path | None
) -> None:
    server = ThreadingHTTPServer(address, handler)
    if folder is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def main() -> None:
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--health-addr", default=":9440", help="probes")
    parser.add_argument("--webhook-port", type=int, default=9443, help="port")
    parser.add_argument("--leader-elect", default="false", nargs="?", const="true", help="elect")
    result = parser.parse_args()
    if os.environ.get("BROKEN"):
        sys.exit("it is broken")
    folder = Path(tempfile.gettempdir()) / "k8s-webhook-server" / "serving-certs"
    host, _, port = result.health_addr.rpartition(":")
    serve(("127.0.0.1", result.webhook_port), Webhook, folder)
    spaces = "/api/v1/namespaces/foo-system"
    tell(
        arguments=sys.argv[1:],
        environment=dict(os.environ),
        may_list=code_of(f"{spaces}/configmaps"),
        may_not=code_of(f"{spaces}/secrets"),
        setting=Path(os.environ["SETTINGS"], "setting").read_text(),
    )
    serve((host, int(port)), Probes, None)
    threading.Event().wait()


if __name__ == "__main__":
    main()
