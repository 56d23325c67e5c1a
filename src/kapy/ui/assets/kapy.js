// Small additions to htmx: what is unfolded stays so, copy buttons, keys, a lost connection.
"use strict";
(() => {
  Idiomorph.defaults.callbacks = {
    ...Idiomorph.defaults.callbacks,
    // Most of a page stays as it is: the browser compares two nodes faster than a script.
    beforeNodeMorphed: (node, changed) => !node.isEqualNode(changed),
    beforeAttributeUpdated: (name, node) => {
      if (name === "open" && node.tagName === "DETAILS") return false;
      const isTyping = node === document.activeElement && ["INPUT", "TEXTAREA"].includes(node.tagName);
      return !(name === "value" && isTyping);
    },
  };
  // The server tells that what a page shows has changed; the page asks for it again.
  const lost = document.getElementById("lost");
  const refresh = () => htmx.trigger(document.body, "kapy:refresh");
  // A browser has six connections to a server for all of its pages: those that nobody sees hold none.
  let source = null;
  const follow = () => {
    const live = document.querySelector("[data-live]");
    if (source) source.close();
    if (!live || document.hidden) return;
    source = new EventSource(live.dataset.live);
    source.addEventListener("change", refresh);
    source.addEventListener("open", () => (lost.hidden = true));
    source.addEventListener("error", ({ target }) => {
      if (lost.hidden) document.getElementById("lost-since").textContent = new Date().toLocaleTimeString();
      lost.hidden = false;
      if (target === source && target.readyState === EventSource.CLOSED) window.setTimeout(follow, 2000);
    });
  };
  window.addEventListener("pageshow", follow);
  window.addEventListener("pagehide", () => source && source.close());
  document.addEventListener("visibilitychange", follow);
  document.body.addEventListener("htmx:responseError", (event) => {
    if (event.detail.xhr.status === 401) window.location.reload();
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const text = document.getElementById(button.dataset.copy).textContent;
    navigator.clipboard.writeText(text).then(() => {
      button.textContent = "Copied";
    });
  });
  document.addEventListener("keydown", (event) => {
    const search = document.getElementById("search");
    if (event.key !== "/" || !search || event.target.closest("input, textarea, select")) return;
    event.preventDefault();
    search.focus();
    search.select();
  });
  const fill = (area, files) => {
    if (files.length) files[0].text().then((text) => (area.value = text));
  };
  document.addEventListener("change", (event) => {
    const input = event.target;
    if (input.matches("[data-fill]")) fill(document.getElementById(input.dataset.fill), input.files);
  });
  for (const name of ["dragover", "drop"]) {
    document.addEventListener(name, (event) => {
      const area = event.target.closest("textarea[data-drop]");
      if (!area) return;
      event.preventDefault();
      if (name === "drop") fill(area, event.dataTransfer.files);
    });
  }
})();
