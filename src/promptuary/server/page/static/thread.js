// The box of a thread: menus for @ and #, tokens before sending, and the answer as it comes.
(() => {
  const form = document.getElementById("say");
  if (!form) return;
  const text = form.elements.text, menu = document.getElementById("menu"), meter = document.getElementById("meter");
  const out = document.getElementById("streamed"), send = document.getElementById("send"), stop = document.getElementById("stop");
  const token = form.elements.form_token?.value ?? "";
  let running = null, pasted = [];

  const post = (address, fields, more = {}) => fetch(address, { method: "POST", body: new URLSearchParams({ form_token: token, ...fields }), ...more });
  const element = (name, kind, words) => {
    const made = document.createElement(name);
    if (kind) made.className = kind;
    if (words) made.textContent = words;
    return made;
  };

  // Menus

  text.setAttribute("role", "combobox");
  text.setAttribute("aria-autocomplete", "list");
  text.setAttribute("aria-controls", "menu");
  text.setAttribute("aria-expanded", "false");
  let asked = 0, chosen = -1, hintTimer = 0, again = 0;
  const options = () => [...menu.querySelectorAll("[data-insert]")];
  const close = () => {
    asked++;
    clearTimeout(hintTimer);
    menu.hidden = true;
    menu.replaceChildren();
    text.setAttribute("aria-expanded", "false");
    text.removeAttribute("aria-activedescendant");
  };
  const choose = (number) => {
    const rows = options();
    chosen = rows.length ? (number + rows.length) % rows.length : -1;
    rows.forEach((row, place) => row.setAttribute("aria-selected", String(place === chosen)));
    if (chosen < 0) return;
    text.setAttribute("aria-activedescendant", rows[chosen].id);
    rows[chosen].scrollIntoView({ block: "nearest" });
  };
  const before = () => text.value.slice(0, text.selectionStart);
  const mayRefer = (words) => /[@#]|\[\[/.test(words.slice(words.lastIndexOf("\n") + 1));
  const offer = async (hints) => {
    const words = before(), mine = ++asked;
    clearTimeout(hintTimer);
    if (text.selectionStart !== text.selectionEnd || !mayRefer(words)) return close();
    const answer = await post(form.dataset.complete, { text: words, hints }).catch(() => null);
    if (!answer?.ok || mine !== asked || words !== before()) return;
    const kept = hints === "1" ? chosen : 0;
    menu.innerHTML = await answer.text();  // made by the server, escaped
    menu.hidden = !menu.childElementCount;
    text.setAttribute("aria-expanded", String(!menu.hidden));
    if (menu.hidden) return close();
    choose(Math.max(0, kept));
    if (hints !== "1") hintTimer = setTimeout(() => offer("1"), 150);
    else if (!options().length && again++ < 20) hintTimer = setTimeout(() => offer("1"), 300);
  };
  const accept = (row) => {
    // Positions of the server are characters, those of a text field halves of surrogate pairs.
    const start = [...before()].slice(0, Number(row.dataset.start)).join("").length;
    const insert = row.dataset.insert;
    text.setRangeText(insert, start, text.selectionStart, "end");
    close();
    typed();
    // A folder or a kind goes on.
    if (/[:/]$/.test(insert)) offer("0");
  };
  menu.addEventListener("mousedown", (event) => {
    const row = event.target.closest("[data-insert]");
    event.preventDefault();
    if (row) accept(row);
  });

  // Tokens

  let meterTimer = 0, measured = 0;
  const typed = () => {
    clearTimeout(meterTimer);
    meterTimer = setTimeout(async () => {
      const mine = ++measured;
      if (!text.value.trim()) return meter.replaceChildren();
      const answer = await post(form.dataset.measure, { text: text.value, pasted: JSON.stringify(pasted) }).catch(() => null);
      if (answer?.ok && mine === measured) meter.innerHTML = await answer.text();
    }, 300);
  };
  text.addEventListener("input", () => { again = 0; typed(); offer("0"); });
  text.addEventListener("blur", close);
  text.addEventListener("paste", (event) => {
    const words = event.clipboardData.getData("text").replace(/\r\n?/g, "\n");
    // Somebody else may have written a long text: nothing in it is a reference.
    if (words.length > 500 || words.split("\n").length > 5) pasted.push(words);
  });
  text.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const rows = menu.hidden ? [] : options();
    if (rows.length && ["ArrowDown", "ArrowUp", "Tab", "Enter", "Escape"].includes(event.key) && !event.shiftKey) {
      event.preventDefault();
      if (event.key === "ArrowDown") choose(chosen + 1);
      else if (event.key === "ArrowUp") choose(chosen - 1);
      else if (event.key === "Escape") close();
      else accept(rows[Math.max(0, chosen)]);
    } else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      form.requestSubmit();
    } else if (event.key === "Escape") {
      running?.abort();
    }
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape" && event.target !== text) running?.abort(); });

  // The answer

  const say = (speaker, kind) => {
    const said = element("article", `spoken ${kind}`), head = element("header");
    head.append(element("span", "speaker", speaker));
    said.append(head);
    out.append(said);
    return said;
  };
  const shown = {};
  const listeners = {
    run_begun: (value) => { shown.run = value.run; },
    prepared: (value) => {
      for (const warning of value.warnings ?? []) shown.answer.append(element("p", "note", warning));
      shown.status.textContent = `${value.tokens.toLocaleString()} of ${value.window.toLocaleString()} tokens sent, waiting for the model …`;
    },
    waiting: (value) => { shown.status.textContent = value.text; },
    text: (value) => {
      shown.status.textContent = "";
      if (!shown.words) shown.answer.insertBefore(shown.words = element("div", "prose raw"), shown.status);
      shown.words.append(value.text);
    },
    call: (call) => {
      shown.words = null;
      const details = element("details", "call"), summary = element("summary");
      summary.append(element("span", "tool", call.name), " ", element("span", "dim args", call.arguments));
      details.append(summary, element("pre", "", call.arguments));
      shown.calls[call.id] = details;
      shown.answer.insertBefore(details, shown.status);
      shown.status.textContent = `${call.name} …`;
    },
    call_waits: ({ call }) => ask(call),
    result: (value) => {
      const details = shown.calls[value.id];
      details?.append(element("pre", "result", value.text));
      if (value.is_error) details?.querySelector("summary").append(" ", element("span", "tag failed", "failed"));
      shown.status.textContent = "waiting for the model …";
    },
    problem: (value) => { shown.problem = value.detail; },
    ended: (value) => { shown.ended = [value.text, value.took].filter(Boolean).join(" · "); },
  };
  const ask = (call) => {
    const box = element("div", "consent"), run = shown.run;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", `Allow ${call.name}?`);
    box.append(element("p", "", `The model wants to call ${call.name}, which writes:`), element("pre", "", call.arguments));
    for (const [agreed, label] of [["yes", "Allow"], ["no", "Refuse"]]) {
      const button = element("button", agreed === "yes" ? "primary" : "", label);
      button.type = "button";
      button.addEventListener("click", async () => {
        box.remove();
        text.focus();
        const answer = await post(`${form.dataset.runs}/${encodeURIComponent(run)}/calls/${encodeURIComponent(call.id).replaceAll(".", "%2E")}`, { agreed }).catch(() => null);
        if (!answer?.ok) shown.status.textContent = "The answer was not taken: the run has ended, or waited too long.";
      });
      box.append(button, " ");
    }
    shown.answer.insertBefore(box, shown.status);
    // No button has the focus by itself: an Enter that was meant for the message must not allow anything.
    shown.status.textContent = `${call.name} waits for your answer.`;
  };
  const read = async (body) => {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const parts = (rest + value).split("\n\n");
      rest = parts.pop();
      // Who scrolled up to read is not taken away from there.
      const follows = innerHeight + scrollY > document.body.scrollHeight - 80;
      for (const part of parts) {
        // No pattern: for those, U+2028 in a text ends a line, too.
        const lines = part.split("\n"), field = (name) => lines.find((line) => line.startsWith(name))?.slice(name.length);
        const name = field("event: "), data = field("data: ");
        if (name && data) listeners[name]?.(JSON.parse(data));
      }
      if (follows) document.getElementById("end").scrollIntoView({ block: "end" });
    }
  };
  const refresh = async () => {
    const answer = await fetch(location.pathname, { headers: { accept: "text/html" } }).catch(() => null);
    const history = document.getElementById("history");
    if (!answer?.ok || !history) return false;
    const loaded = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("history");
    if (loaded) history.replaceChildren(...loaded.childNodes);
    return Boolean(loaded);
  };
  const tellEnd = async (words, kind) => {
    const known = await refresh();
    if (known) out.replaceChildren();
    if (words) out.append(element("p", kind, words));
    out.hidden = !out.childElementCount;
    document.getElementById("end").scrollIntoView({ block: "end" });
  };
  // The session has ended: sent as a form, the page to sign in keeps the words.
  const signIn = (words) => {
    const given = element("input");
    Object.assign(given, { type: "hidden", name: "pasted", value: JSON.stringify(pasted) });
    form.append(given);
    text.value = words;
    form.submit();
  };
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const words = text.value;
    if (running || !words.trim()) return;
    close();
    running = new AbortController();
    const mine = running;
    Object.assign(shown, { run: "", words: null, calls: {}, problem: "", ended: "" });
    const fields = { text: words, model: form.elements.model.value, pasted: JSON.stringify(pasted), stream: "1" };
    out.replaceChildren();
    out.hidden = false;
    say("You", "user").append(element("div", "prose raw", words));
    shown.answer = say("Model", "assistant");
    shown.answer.append(shown.status = element("p", "dim status", "preparing …"));
    shown.status.setAttribute("role", "status");
    text.value = "";
    meter.replaceChildren();
    send.hidden = true;
    stop.hidden = false;
    let problem = "";
    try {
      const answer = await post(form.action, fields, { signal: mine.signal });
      if (answer.status === 401) return signIn(words);
      if (answer.ok) await read(answer.body);
      else problem = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main p")?.textContent || `The server answered ${answer.status}.`;
      problem ||= shown.problem;
      if (!problem) pasted = [];
    } catch (error) {
      problem = mine.signal.aborted ? "" : "The connection to the server was lost; load the page again to see what arrived.";
      // What had arrived is recorded when the server notices.
      if (mine.signal.aborted) { shown.ended = "stopped"; await new Promise((done) => setTimeout(done, 500)); }
    }
    running = null;
    send.hidden = false;
    stop.hidden = true;
    if (problem && !text.value) text.value = words;
    await tellEnd(problem || shown.ended, problem ? "problem" : "dim took");
    text.focus();
  });
  stop.addEventListener("click", () => running?.abort());
  if (location.hash === "#end" || !location.hash) document.getElementById("end")?.scrollIntoView({ block: "end" });
})();
