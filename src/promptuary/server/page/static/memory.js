// A letter on a button presses it while its card has the focus; j and k go from card to card. A changed filter applies.
(() => {
  const move = (card, by) => {
    const cards = [...document.querySelectorAll("[data-card]")];
    cards[cards.indexOf(card) + by]?.focus();
  };
  document.addEventListener("keydown", (event) => {
    const card = event.target.closest("[data-card]");
    if (!card || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea")) return;
    const step = { j: 1, k: -1 }[event.key];
    const button = card.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
    if (!step && !button) return;
    event.preventDefault();
    if (step) move(card, step);
    else if (!event.repeat) button.click();
  });
  document.addEventListener("change", (event) => {
    if (event.target.matches("select, input[type=date]")) event.target.closest("form[data-auto]")?.requestSubmit();
  });
})();
