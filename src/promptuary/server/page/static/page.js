// A link whose text is shown in place hides it again.
document.addEventListener("click", (event) => {
  const link = event.target.closest("[data-opens]"), shown = link && document.getElementById(link.dataset.opens);
  if (!shown?.childElementCount) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  shown.replaceChildren();
}, true);
// Events of the server become events of the page: elements with hx-trigger="turn from:body" fetch themselves again.
(() => {
  const KINDS = ["turn", "note", "proposal", "missed"];
  const address = document.body.dataset.live;
  if (!address || !window.EventSource) return;
  let source = null, waiting = new Set(), timer = 0;
  const tell = () => {
    timer = 0;
    for (const kind of waiting) document.body.dispatchEvent(new CustomEvent(kind));
    waiting = new Set();
  };
  const soon = (kind) => {
    waiting.add(kind);
    timer ||= setTimeout(tell, 200);
  };
  const open = () => {
    source = new EventSource(address);
    for (const kind of KINDS) source.addEventListener(kind, () => soon(kind));
  };
  // A browser has six connections to a server: a page that nobody sees gives its own back.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) { source?.close(); source = null; }
    else if (!source) { open(); soon("missed"); }
  });
  // Signing out ends the stream at the server, which is no failure.
  document.addEventListener("submit", (event) => { if (!event.target.hasAttribute("hx-post")) source?.close(); });
  if (!document.hidden) open();
})();
