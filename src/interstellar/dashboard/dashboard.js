"use strict";
// Replaces the parts of a page as the server says; see streams.py for the messages.

const parts = document.getElementById("parts");
const status = document.getElementById("status");
const AGAIN_MILLISECONDS = 2000;
let stream = null;
// Parts as the server wrote them: a new stream sends all again, and what is the same stays untouched.
const written = new Map([...parts.children].map((part) => [part.dataset.part, part.outerHTML]));

function say(kind, text) {
  status.className = kind;
  status.textContent = text;
}

function listen() {
  if (stream || document.hidden || !document.body.dataset.stream) return;
  stream = new EventSource(document.body.dataset.stream);
  stream.onopen = () => say("live", "live");
  stream.onmessage = (event) => apply(JSON.parse(event.data));
  stream.addEventListener("gone", () => {
    stop();
    document.body.dataset.stream = "";
    say("lost", "this run is no longer there");
  });
  stream.onerror = () => {
    say("lost", "the server is away; looking for it");
    if (stream.readyState === EventSource.CLOSED) {
      stop();
      setTimeout(listen, AGAIN_MILLISECONDS);
    }
  };
}

function stop() {
  if (stream) stream.close();
  stream = null;
}

// A browser opens few connections to one server: a page that nobody sees gives its own back.
document.addEventListener("visibilitychange", () => (document.hidden ? stop() : listen()));

function apply(message) {
  const found = new Map([...parts.children].map((part) => [part.dataset.part, part]));
  let before = null;
  for (const name of message.order) {
    let part = found.get(name);
    found.delete(name);
    if (name in message.changed) {
      const fresh = parse(message.changed[name]);
      const html = fresh.outerHTML;
      if (!part || html !== written.get(name)) {
        if (part) replace(part, fresh);
        part = fresh;
        written.set(name, html);
      }
    }
    if (!part) continue;
    const next = before ? before.nextElementSibling : parts.firstElementChild;
    if (part !== next) parts.insertBefore(part, next);
    before = part;
  }
  for (const part of found.values()) part.remove();
  filter();
  tellAges();
}

function parse(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content.firstElementChild;
}

// What a reader has opened, chosen, scrolled or focused stays so.
function replace(part, fresh) {
  const kept = "details, input, .scroll, a, summary";
  const before = [...part.querySelectorAll(kept)].map((old) => ({
    old,
    left: old.scrollLeft,
    isFocused: old === document.activeElement,
  }));
  const now = fresh.querySelectorAll(kept);
  part.replaceWith(fresh);
  before.forEach(({ old, left, isFocused }, i) => {
    if (!now[i] || now[i].tagName !== old.tagName) return;
    if (old.tagName === "DETAILS") now[i].open = old.open;
    if (old.tagName === "INPUT") now[i].checked = old.checked;
    if (left) now[i].scrollLeft = left;
    if (isFocused) now[i].focus({ preventScroll: true });
  });
}

const box = document.getElementById("filter");
function filter() {
  if (!box) return;
  const wanted = box.value.toLowerCase();
  for (const row of parts.children) {
    row.classList.toggle("filtered", !row.dataset.part.toLowerCase().includes(wanted));
  }
}
if (box) box.addEventListener("input", filter);
filter();  // for who typed before this was loaded

function tellAges() {
  for (const time of document.querySelectorAll("time")) {
    const seconds = Math.max(0, (Date.now() - Date.parse(time.dateTime)) / 1000);
    const units = [[86400, "days"], [3600, "hours"], [60, "min"], [1, "s"]];
    const [size, unit] = units.find(([size]) => seconds >= 2 * size) || units[3];
    if (!Number.isNaN(seconds)) time.textContent = `${Math.floor(seconds / size)} ${unit} ago`;
  }
}
setInterval(tellAges, 1000);

async function ask(form) {
  const shown = form.parentElement.querySelector("[aria-live]");
  const given = [...new FormData(form)].filter(([, value]) => value !== "");
  shown.textContent = "…";
  try {
    const reply = await fetch(`${form.getAttribute("action")}?${new URLSearchParams(given)}`);
    const said = await reply.json();
    shown.replaceChildren(reply.ok ? tabulate(said.answers) : paragraph(said.error));
  } catch {
    shown.replaceChildren(paragraph("The server is away."));
  }
}

function tabulate(answers) {
  if (!answers.length) return paragraph("There is no answer.");
  const columns = ["rank", "entity", "label", "score", "probability", "known"];
  const there = columns.filter((name) => answers.some((answer) => answer[name] != null));
  const table = document.createElement("table");
  const head = table.createTHead().insertRow();
  for (const name of there) {
    const cell = document.createElement("th");
    cell.textContent = name;
    head.append(cell);
  }
  const body = table.createTBody();
  for (const answer of answers) {
    const row = body.insertRow();
    for (const name of there) row.insertCell().textContent = format(answer[name]);
  }
  const scroll = document.createElement("div");
  scroll.className = "scroll";
  scroll.tabIndex = 0;
  scroll.append(table);
  return scroll;
}

function format(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  return Number.isInteger(value) || typeof value === "string" ? String(value) : value.toFixed(3);
}

function paragraph(text) {
  const made = document.createElement("p");
  made.textContent = text;
  return made;
}

document.addEventListener("submit", (event) => {
  if (!event.target.matches(".ask")) return;
  event.preventDefault();
  ask(event.target);
});

tellAges();
listen();
