// The picture of the table, seen from the dealer's side. Every card is one element that glides to its new place when the
// ledger moves it, and shows its face once it is turned over.

import { cardFace } from "./cards.js";
import { capitalise, placeWords, setAttribute, svg } from "./dom.js";
import { CARD, LONGEST_ROW, layoutFor, rowsOf } from "./layouts.js";

const PALETTE = {
  red: "#b3262e", blue: "#2257b0", green: "#1d7a4b", black: "#2d3035", purple: "#6b3fa0", violet: "#6b3fa0",
  orange: "#c25a12", brown: "#7a4a26", yellow: "#b98a09", gold: "#a37a1c", grey: "#646c76", gray: "#646c76",
  pink: "#bb3f78", teal: "#11757a", white: "#8b8f96",
};

/** The colour of a back; an unknown name gets a colour of its own, always the same. */
export function backColour(back) {
  const known = PALETTE[String(back).toLowerCase()];
  if (known) return known;
  let sum = 0;
  for (const char of String(back)) sum = (sum * 31 + char.codePointAt(0)) % 360;
  return `hsl(${sum} 52% 38%)`;
}

let backs = []; // of this table: the pattern belongs to the back, so that decks can be distinguished without colours
export const useBacks = (list) => { backs = list; };

/** A small card back beside a deck's name. */
export function backSwatch(back) {
  return svg("svg", { class: "swatch", viewBox: "-22 -30 44 60", "aria-hidden": "true" }, cardBack(back));
}

function cardBack(back) {
  const [w, h] = [CARD.w, CARD.h];
  const lines = backs.indexOf(back) % 2 ? "M-13-21 13 5M-13-8 13 18M-13 5 3 21M13-8 0-21" : "M0-21 13-7 0 7-13-7ZM0-7 13 7 0 21-13 7Z";
  return svg("g", { class: "back" },
    svg("rect", { x: -w / 2, y: -h / 2, width: w, height: h, rx: 5, class: "card-edge" }),
    svg("rect", { x: -w / 2 + 3, y: -h / 2 + 3, width: w - 6, height: h - 6, rx: 3, fill: backColour(back) }),
    svg("path", { d: lines, class: "card-lines" }));
}

/** A number between -1 and 1, always the same for a card: washed cards lie scattered, but do not move. */
function scatter(seed) {
  const x = Math.sin(seed * 127.1) * 43758.5453;
  return 2 * (x - Math.floor(x)) - 1;
}

const PILES = new Set(["infeed", "shelves", "output", "tray", "shoe", "manual_shoe", "hand", "rack", "stub", "table", "discards", "burnt", "gone"]);
const MOST_DRAWN = 60; // cards of a pile that are drawn: packs may have hundreds
const shownOf = (number) => Math.min(MOST_DRAWN, Math.max(0, number));

export class Picture {
  constructor(root, tapSeat) {
    this.root = root;
    this.tapSeat = tapSeat;
    this.wagers = [[], false]; // the seats that have wagered, and whether they can be tapped
    this.cards = new Map(); // deck → [{node, place}]
    this.seatNodes = new Map();
    this.deviceNodes = new Map();
    this.layout = null;
    this.shape = "";
    this.space = [root.parentElement.clientWidth, root.parentElement.clientHeight]; // asking each time would be slow
    new ResizeObserver(([{ contentRect: { width, height } }]) => {
      this.space = [width, height];
      if (this.last) this.show(this.last);
    }).observe(root.parentElement);
  }

  show(table) {
    this.last = table;
    const layout = layoutFor(this.space, table);
    const piles = Object.keys(layout.piles ?? {}).filter((place) => table.decks.some((deck) => deck.cards[place]));
    const names = (table.hands ?? []).map((hand) => hand.name).filter((name) => !name.startsWith("seat"));
    const shape = JSON.stringify([layout.size, layout.hands, layout.seat, table.seats, table.devices.map((d) => d.name), table.method, piles, names]);
    if (shape !== this.shape) {
      this.shape = shape;
      this.layout = layout;
      this.draw(table, piles, names);
    }
    this.kinds = Object.fromEntries((table.hands ?? []).map((hand) => [hand.name, hand.kinds]));
    this.slots = this.layout.hands ? slotsOf(table) : {};
    this.showSeats(table);
    this.showDevices(table);
    this.showCards(table);
    setAttribute(this.root, "aria-label", describe(table));
  }

  // --- fixed parts ---------------------------------------------------------------------------------------------

  draw(table, piles, names) {
    const { size, felt, line, boxes, hands = {} } = this.layout;
    this.root.setAttribute("viewBox", `0 0 ${size[0]} ${size[1]}`);
    this.layers = { ground: svg("g", { "aria-hidden": "true" }), seats: svg("g"), cards: svg("g", { "aria-hidden": "true" }), badges: svg("g", { "aria-hidden": "true" }) };
    this.cards.clear();
    this.seatNodes.clear();
    this.handNodes = new Map();
    this.deviceNodes.clear();
    const glow = svg("radialGradient", { id: "felt", cx: "50%", cy: "62%", r: "75%" },
      svg("stop", { offset: "0", class: "felt-light" }), svg("stop", { offset: "1", class: "felt-dark" }));
    this.root.replaceChildren(svg("defs", {}, glow), ...Object.values(this.layers));
    const ground = this.layers.ground;
    ground.append(svg("path", { d: felt, class: "felt", fill: "url(#felt)" }), svg("path", { d: line, class: "felt-line" }));
    for (const [name, place] of Object.entries(hands)) this.layers.seats.append(this.drawHand(name, place));
    for (let number = 1; number <= table.seats; number++)
      if (!hands[`seat${number}`] && (this.layout.seatsAt || !this.layout.hands)) this.layers.seats.append(this.drawSeat(number, table.seats));
    for (const place of piles) {
      const [x, y] = this.layout.piles[place];
      ground.append(svg("text", { x, y, class: "place-name pile-name", "text-anchor": "middle", text: capitalise(place) }));
    }
    for (const device of table.devices) if (boxes[device.name]) ground.append(this.drawDevice(device.name, boxes[device.name]));
    if (!table.devices.some((device) => device.name === "shoe") && table.method === "manual_shoe")
      ground.append(box(boxes.shoe, "Shoe"));
    ground.append(box(boxes.rack, "Rack"));
    this.dealerNode = null;
    if (!boxes.dealer || (table.hands?.length && !names.includes("dealer"))) return;
    const [x, y, w, h] = boxes.dealer;
    this.dealerNode = svg("g", { class: "dealer" },
      svg("rect", { x, y, width: w, height: h, rx: 14, class: "dealer-place" }),
      svg("text", { x: x + w / 2, y: y - 8, class: "place-name", "text-anchor": "middle", text: "Dealer" }));
    ground.append(this.dealerNode);
  }

  seatAt(number, seats) {
    const named = this.layout.hands?.[`seat${number}`];
    if (named) return [named.box[0] + named.box[2] / 2, named.box[1] + named.box[3] / 2];
    if (this.layout.seatsAt) return this.layout.seatsAt[number];
    const { x, y, rx, ry, from, to } = this.layout.arc;
    const part = seats === 1 ? 0.5 : (number - 1) / (seats - 1);
    const angle = ((from + (to - from) * part) * Math.PI) / 180;
    return [x + rx * Math.cos(angle), y - ry * Math.sin(angle)];
  }

  drawSeat(number, seats) {
    const [x, y] = this.seatAt(number, seats);
    const r = this.layout.seat;
    const node = svg("g", { class: "seat", transform: `translate(${x} ${y})`, data: { seat: number }, ...this.tapping(number) },
      this.layout.touch ? svg("circle", { r: this.layout.touch, class: "seat-touch" }) : null,
      svg("circle", { r, class: "seat-ring" }),
      svg("circle", { r: r + 6, class: "seat-due" }),
      this.layout.small ? null : svg("circle", { cy: -r, r: 18, class: "seat-tag" }),
      svg("text", { y: this.layout.small ? 8 : 9 - r, class: "seat-number", "text-anchor": "middle", "aria-hidden": "true", text: number }));
    node.mark = svg("g", { class: "button-mark", transform: `translate(${r * 0.8} ${-r * 0.8})` }, svg("circle", { r: 13 }), svg("text", { y: 6, "text-anchor": "middle", text: "B" }));
    node.bets = svg("text", { class: "seat-bets", y: r + 20, "text-anchor": "middle" });
    node.append(node.mark, node.bets);
    this.seatNodes.set(number, node);
    return node;
  }

  /** What makes a seat a button while wagers are taken. */
  tapping(number) {
    const tap = () => this.wagers[1] && this.tapSeat(number);
    return { onclick: tap, onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); tap(); } } };
  }

  /** A hand with a box of its own: its name, a figure, and the names of its rows. */
  drawHand(name, { box: [x, y, w, h], rows = [], card, step, left }) {
    const figure = svg("tspan", { class: "hand-figure" });
    const title = svg("text", { x: x + 14, y: y + 24, class: "place-name" });
    const seat = Number(/^seat(\d+)$/.exec(name)?.[1] ?? 0);
    const node = svg("g", { class: `named-hand${seat ? " seat" : ""}`, data: seat ? { hand: name, seat } : { hand: name }, ...(seat ? this.tapping(seat) : {}) },
      svg("rect", { x, y, width: w, height: h, rx: 16, class: "hand-box" }), title,
      ...rows.map((row) => svg("text", { x: row.label[0], y: row.label[1], class: "row-name", "text-anchor": left ? "end" : "start", text: capitalise(row.name) })),
      ...rows.map((row) => svg("rect", { x: row.x - step / 2, y: row.y - (CARD.h / 2) * card, width: step * LONGEST_ROW, height: CARD.h * card, rx: 6, class: "row-box" })));
    node.title = title;
    node.figure = figure;
    node.mark = svg("g", { class: "button-mark", transform: `translate(${x + w - 22} ${y + 18})` }, svg("circle", { r: 13 }), svg("text", { y: 6, "text-anchor": "middle", text: "B" }));
    node.append(node.mark);
    this.handNodes.set(name, node);
    if (seat) this.seatNodes.set(seat, node);
    return node;
  }

  drawDevice(name, place) {
    const [x, y, w, h] = place;
    const words = svg("tspan", { class: "device-doing" });
    const node = svg("g", { class: "device" },
      svg("rect", { x, y, width: w, height: h, rx: 14, class: "device-box" }),
      svg("circle", { cx: x + 13, cy: y - 15, r: 7, class: "device-light" }),
      svg("text", { x: x + 27, y: y - 8, class: "place-name" }, capitalise(name), words),
      svg("rect", { x: x + 12, y: y + h - 7, width: w - 24, height: 4, rx: 2, class: "device-work" }));
    node.words = words;
    this.deviceNodes.set(name, node);
    return node;
  }

  // --- moving parts --------------------------------------------------------------------------------------------

  showSeats(table) {
    const round = table.round;
    const stacks = round && !round.void ? round.stacks : [];
    const due = stacks.find((stack) => stack.state === "at_exit" || stack.state === "due")?.target ?? table.turn?.hand;
    const hands = new Map((table.hands ?? []).map((hand) => [hand.name, hand]));
    const colours = Object.assign({}, ...(table.board ?? []).map((block) => block.colours));
    const figures = new Map((table.board ?? []).filter((block) => block.hand).map((block) => [block.hand, block.figure]));
    for (const [number, node] of this.seatNodes) {
      node.classList.toggle("due", due === `seat${number}`);
      node.mark.classList.toggle("here", table.button === number);
      const bets = Object.entries(hands.get(`seat${number}`)?.bets ?? {}).reduce((sum, [bet, amount]) => sum + (table.seat_bets.includes(bet) ? 0 : amount), 0);
      if (node.bets) node.bets.textContent = bets ? String(bets) : "";
      if (bets && !figures.has(`seat${number}`)) figures.set(`seat${number}`, String(bets));
    }
    for (const [name, node] of this.handNodes) {
      const label = hands.get(name)?.label ?? capitalise(placeWords(name));
      node.classList.toggle("due", due === name);
      node.mark.classList.toggle("here", name === `seat${table.button}`);
      const figure = figures.get(name) ?? "";
      if (colours[name]) node.dataset.colour = colours[name];
      if (node.shown === label + figure) continue;
      node.shown = label + figure;
      node.figure.textContent = figure ? `  ${figure}` : "";
      node.title.replaceChildren(label, node.figure);
    }
    this.showWagers(...this.wagers);
  }

  /** Mark the seats that play or have wagered; while wagers are taken, each seat is a button. */
  showWagers(seats, open) {
    this.wagers = [seats, open];
    const playing = this.last?.round?.seats ?? seats;
    for (const [number, node] of this.seatNodes) {
      node.classList.toggle("playing", playing.includes(number));
      const button = { role: "button", tabindex: 0, "aria-label": `Seat ${number} has wagered`, "aria-pressed": playing.includes(number) };
      for (const [name, value] of Object.entries(button)) setAttribute(node, name, open ? value : null);
      setAttribute(node, "aria-hidden", open ? null : "true"); // the picture's label says who plays
    }
  }

  showDevices(table) {
    const dealers = !table.round?.void && table.round?.stacks.find((stack) => stack.target === "dealer")?.state;
    this.dealerNode?.classList.toggle("due", dealers === "due" || dealers === "at_exit");
    for (const device of table.devices) {
      const node = this.deviceNodes.get(device.name);
      if (!node) continue;
      setAttribute(node, "class", `device is-${device.state} link-${device.link}`);
      const quiet = device.state === "ready" || (this.layout.narrow && ["working", "out_of_service"].includes(device.state));
      node.words.textContent = quiet && !device.hindered ? "" : ` ${shortWords(device, this.layout.letters[device.name])}`;
    }
  }

  showCards(table) {
    const badges = new Map(); // place → [cards, …]
    table.decks.forEach((deck, index) => {
      const cards = this.deal(deck);
      this.move(cards, deck);
      this.lay(cards, deck, table.decks.length > 1 ? index : 0, table.decks);
      for (const [place, number] of Object.entries(deck.cards))
        if (place !== "gone") badges.set(place, [...(badges.get(place) ?? []), [number, deck, index]]);
    });
    for (const name of [...this.cards.keys()])
      if (!table.decks.some((deck) => deck.name === name)) {
        this.cards.get(name).forEach((card) => card.node.remove());
        this.cards.delete(name);
      }
    this.showBadges(badges);
  }

  /** The card elements of a deck; more are created when the view shows more: a bystander's leaves out hidden cards. */
  deal(deck) {
    const cards = this.cards.get(deck.name) ?? [];
    const number = Object.values(deck.cards).reduce((sum, n) => sum + shownOf(n), 0);
    const from = Object.keys(deck.cards).find((place) => deck.cards[place] > MOST_DRAWN) ?? "";
    const [x, y] = from ? this.anchor(from, 0, false) : [0, 0];
    for (let i = cards.length; i < number; i++) {
      const node = svg("g", { class: "card" }, cardBack(deck.back));
      if (cards.length && from) node.style.transform = `translate(${x}px, ${y}px) scale(${this.layout.card})`; // it comes from that pile
      this.layers.cards.append(node);
      cards.push({ node, place: "", order: i });
    }
    this.cards.set(deck.name, cards);
    return cards;
  }

  /** Move cards from the tops of piles that have shrunk to those that have grown. */
  move(cards, deck) {
    const piles = new Map();
    for (const card of cards) piles.set(card.place, [...(piles.get(card.place) ?? []), card]);
    const loose = [];
    for (const [place, pile] of piles) {
      const stays = shownOf(deck.cards[place] ?? 0);
      loose.push(...pile.slice(stays).reverse());
    }
    for (const [place, number] of Object.entries(deck.cards)) {
      const there = piles.get(place)?.length ?? 0;
      for (let i = there; i < shownOf(number) && loose.length; i++) loose.shift().place = place;
    }
    for (const card of loose) { // cards that the ledger does not have, or that are not drawn
      if (card.place) card.place = "gone";
      if (cards.length > 3 * MOST_DRAWN) {
        card.node.remove();
        cards.splice(cards.indexOf(card), 1);
      }
    }
  }

  lay(cards, deck, index, decks) {
    const heights = new Map();
    for (const card of cards) {
      const at = heights.get(card.place) ?? 0;
      heights.set(card.place, at + 1);
      const shared = decks.length > 1 && decks.every((other) => other.cards[card.place] > 0);
      const [x, y, turn, size = this.layout.card] = this.positionOf(card, at, deck, index, shared);
      const place = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px) rotate(${turn.toFixed(1)}deg) scale(${size.toFixed(3)})`;
      this.turn(card, PILES.has(card.place) ? "" : this.kinds[card.place]?.[at] ?? "", deck);
      if (place === card.shown) continue;
      card.node.style.transitionDelay = `${Math.min(at, 12) * 22}ms`;
      card.node.style.transform = place;
      card.node.classList.toggle("gone", card.place === "gone");
      card.shown = place;
    }
  }

  /** Turn a card over: it shows its face, or its back again. */
  turn(card, kind, deck) {
    if ((card.kind ?? "") === kind) return;
    card.kind = kind;
    card.node.replaceChildren(kind ? cardFace(kind) : cardBack(deck.back));
  }

  positionOf(card, at, deck, index, shared) {
    const number = Math.max(1, deck.cards[card.place] ?? 1);
    const own = this.layout.hands?.[card.place];
    if (own) return inHand(own, at, number, this.slots[card.place]);
    const [x, y] = this.anchor(card.place, index, shared);
    if (!PILES.has(card.place)) {
      const middle = at - (number - 1) / 2;
      const open = this.kinds[card.place]?.length ?? 0;
      if (open) {
        const size = this.layout.card * 1.05;
        return [x + middle * (number > 3 ? 24 : CARD.w) * size, y, 0, size];
      }
      return [x + middle * 13 * this.layout.card, y + Math.abs(middle) * 1.5, middle * 5];
    }
    if (card.place === "table" && deck.state === "spread") {
      const [cx, cy, row] = this.layout.table.ribbon;
      const middle = at - (number - 1) / 2;
      return [cx + middle * this.layout.table.step, cy + index * row + (middle * middle) / 90, middle * 0.35];
    }
    if (card.place === "table" && deck.state === "washed")
      return [x + scatter(card.order + 1) * 60 * this.layout.card, y + scatter(card.order + 71) * 34, scatter(card.order + 141) * 80];
    return [x + at * 0.1, y - at * 0.26, 0];
  }

  anchor(place, index, shared) {
    const seat = /^seat(\d+)$/.exec(place);
    if (seat) return this.seatAt(Number(seat[1]), this.last.seats);
    if (place === "table") {
      const { x, y, aside } = this.layout.table;
      const spread = this.last.decks.some((deck) => deck.cards.table && deck.state === "spread");
      return [(spread ? aside : x)[index % 2], y]; // beside a spread deck, not on top of it
    }
    const [x, y] = this.layout.spots[place] ?? this.layout.spots.aside;
    return shared ? [x + (index ? 16 : -16), y] : [x, y];
  }

  showBadges(badges) {
    const nodes = [];
    for (const [place, parts] of badges) {
      if (this.layout.hands?.[place]) continue; // its cards lie side by side
      parts.forEach(([number, deck, index], at) => {
        const shared = parts.length > 1;
        let [x, y] = this.anchor(place, index, shared);
        if (place === "table" && deck.state === "spread") {
          const [cx, cy, row] = this.layout.table.ribbon;
          [x, y] = [cx + 30 * this.layout.table.step, cy + index * row - 6];
        }
        if (shared && place !== "table") x = this.anchor(place, 0, false)[0] + (at ? 19 : -19);
        const missing = place === "missing";
        const text = missing ? `${Math.abs(number)} ${number > 0 ? "missing" : "too many"}` : String(number);
        const width = 18 + text.length * 10.5;
        nodes.push(svg("g", { class: `badge${missing ? " alarm" : ""}`, transform: `translate(${x} ${y + (CARD.h / 2) * this.layout.card + 9})` },
          svg("rect", { x: -width / 2, y: -13, width, height: 26, rx: 13 }),
          svg("text", { y: 7, "text-anchor": "middle", text })));
      });
    }
    this.layers.badges.replaceChildren(...nodes);
  }
}

/** For each hand in rows: where each of its cards that are face up lies, as [row, column]; null if it lies in none yet. */
function slotsOf(table) {
  return Object.fromEntries(rowsOf(table).map((block) => {
    const rows = Object.values(block.cards).map((kinds) => kinds.map((kind) => [kind, false]));
    const kinds = table.hands.find((hand) => hand.name === block.hand)?.kinds ?? [];
    return [block.hand, kinds.map((kind) => {
      for (const [row, cards] of rows.entries()) {
        const column = cards.findIndex(([other, taken]) => other === kind && !taken);
        if (column < 0) continue;
        cards[column][1] = true;
        return [row, column];
      }
      return null;
    })];
  }));
}

/** The place of a card in a hand that has a box: side by side, or in its row; what is not placed yet lies beside the first. */
function inHand({ at, box: [x, , w], card, step, rows }, index, number, slots) {
  if (!rows) {
    const room = Math.min(step, (w - CARD.w * card - 16) / Math.max(1, number - 1));
    return [at[0] + (index - (number - 1) / 2) * room, at[1], 0, card];
  }
  const slot = slots?.[index];
  if (slot) return [rows[slot[0]].x + slot[1] * step, rows[slot[0]].y, 0, card];
  const placed = (slots ?? []).filter(Boolean).length, known = (slots ?? []).length;
  const hidden = number - placed;
  if (!placed && !known && hidden > 5) { // a whole hand, face down
    const row = rows.length - 1 - Math.min(rows.length - 1, Math.floor(index / LONGEST_ROW));
    return [rows[row].x + (index % LONGEST_ROW) * step, rows[row].y, 0, card];
  }
  const before = (slots ?? []).slice(0, index).filter((one) => !one).length + Math.max(0, index - known);
  const set = (slots ?? []).filter((slot) => slot?.[0] === 0).length; // in the first row
  const from = rows[0].x + Math.max(set + 0.1, Math.min(3.1, LONGEST_ROW - hidden)) * step, room = x + w - 10 - (CARD.w / 2) * card - from;
  return [from + before * Math.min(step, room / Math.max(1, hidden - 1)), rows[0].y, 0, card];
}

function box([x, y, w, h], name) {
  return svg("g", { class: "device plain" },
    svg("rect", { x, y, width: w, height: h, rx: 14, class: "device-box" }),
    svg("text", { x: x + 6, y: y - 8, class: "place-name", text: name }));
}

const DOING = {
  "shuffle": "shuffling", "deliver": "delivering", "dispense": "dealing", "release": "releasing", "eject": "ejecting",
  "clear jam": "clearing the jam", "self test": "testing itself",
};

const SHORT = { out_of_service: "not in use", "clear jam": "clearing", "self test": "testing" };

/** What a device is doing, or why it is not working. */
export function deviceWords(device) {
  if (device.state === "out_of_service") return device.out_words || "out of service";
  if (device.hindered) return device.hindered.replaceAll("_", " ");
  if (device.state === "working") return DOING[device.doing] ?? "working";
  return device.state_words;
}

/** The same in at most `most` letters, so that it does not run into the name of the next device. */
function shortWords(device, most = Infinity) {
  const text = SHORT[device.state] ?? SHORT[device.doing] ?? deviceWords(device);
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** The picture as text, for screen readers. */
function describe(table) {
  const decks = table.decks.map((deck) => {
    const places = Object.entries(deck.cards).map(([place, number]) => `${number} ${placeWords(place)}`);
    return `Deck ${deck.name}, ${deck.state_words}: ${places.join(", ")}.`;
  });
  const devices = table.devices.map((device) => `The ${device.name} is ${deviceWords(device)}.`);
  const hands = (table.hands ?? []).filter((hand) => hand.kinds.length).map((hand) => `${hand.label}: ${hand.kinds.join(", ")}.`);
  if (table.button) hands.push(`Seat ${table.button} has the button.`);
  return ["The table, seen from the dealer's side.", ...devices, ...hands, ...decks].join(" ");
}
