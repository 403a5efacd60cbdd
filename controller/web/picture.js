// The picture of the table, seen from the dealer's side. Every card is one element that glides to its new place when the
// ledger moves it. The layouts are data: for wide, tall and narrow spaces.

import { capitalise, placeWords, setAttribute, svg } from "./dom.js";

const CARD = { w: 40, h: 56 };

const WIDE = {
  size: [1000, 452], card: 1,
  felt: "M22 424V312C22 96 252 16 500 16s478 80 478 296v112q0 12-12 12H34q-12 0-12-12Z",
  line: "M92 300C110 150 290 84 500 84s390 66 408 216",
  arc: { x: 500, y: 400, rx: 402, ry: 290, from: 144, to: 36 },
  spots: {
    infeed: [84, 370], shelves: [146, 370], output: [146, 370], tray: [208, 370],
    shoe: [304, 370], held: [362, 370], manual_shoe: [332, 370], exit: [446, 370],
    dealer: [546, 370], hand: [654, 370], missing: [664, 370], aside: [716, 370],
    rack: [818, 370], stub: [908, 370], gone: [1080, 300],
  },
  table: { x: [420, 580], y: 226, ribbon: [500, 196, 62], step: 5.2, aside: [300, 700] },
  boxes: { shuffler: [44, 318, 204, 110], shoe: [264, 318, 138, 110], rack: [774, 318, 184, 110], dealer: [490, 318, 112, 110] },
  seat: 46,
  letters: { shuffler: 10, shoe: 14 }, // how long what a device does may be, beside its name
};

const TALL = {
  size: [1000, 680], card: 1.4,
  felt: "M22 652V440C22 130 252 16 500 16s478 114 478 424v212q0 12-12 12H34q-12 0-12-12Z",
  line: "M104 440C112 200 290 118 500 118s388 82 396 322",
  arc: { x: 500, y: 500, rx: 388, ry: 358, from: 161, to: 19 },
  spots: {
    infeed: [82, 580], shelves: [150, 580], output: [150, 580], tray: [218, 580],
    shoe: [322, 580], held: [386, 580], manual_shoe: [350, 580], exit: [482, 580],
    dealer: [612, 580], hand: [612, 420], missing: [500, 400], aside: [400, 420],
    rack: [820, 580], stub: [906, 580], gone: [1090, 400],
  },
  table: { x: [390, 610], y: 330, ribbon: [500, 280, 92], step: 6.4, aside: [250, 750] },
  boxes: { shuffler: [38, 504, 226, 146], shoe: [280, 504, 150, 146], rack: [768, 504, 194, 146], dealer: [540, 504, 146, 146] },
  seat: 62,
  letters: { shuffler: 10, shoe: 14 }, // how long what a device does may be, beside its name
};

const NARROW = {
  size: [560, 640], card: 1,
  felt: "M12 622V330C12 110 120 12 280 12s268 98 268 318v292q0 10-10 10H22q-10 0-10-10Z",
  line: "M56 330C60 160 150 92 280 92s220 68 224 238",
  arc: { x: 280, y: 330, rx: 212, ry: 232, from: 170, to: 10 },
  spots: {
    infeed: [48, 448], shelves: [104, 448], output: [104, 448], tray: [160, 448],
    shoe: [244, 448], held: [290, 448], manual_shoe: [262, 448], exit: [366, 448],
    dealer: [280, 576], hand: [400, 576], missing: [470, 576], aside: [130, 576],
    rack: [452, 448], stub: [512, 448], gone: [640, 320],
  },
  table: { x: [215, 345], y: 296, ribbon: [280, 262, 62], step: 3.8, aside: [130, 430] },
  boxes: { shuffler: [20, 396, 172, 108], shoe: [206, 396, 114, 108], rack: [418, 396, 126, 108], dealer: [212, 538, 136, 82] },
  seat: 38,
  letters: { shuffler: 7, shoe: 14 }, // how long what a device does may be, beside its name
};

function layoutFor([wide, high]) {
  if (wide < 520) return NARROW;
  return wide / Math.max(1, high) > 1.75 ? WIDE : TALL;
}

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

const FANNED = /^(seat\d+|dealer|exit|held|aside|missing)$/;

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
    const layout = layoutFor(this.space);
    const shape = JSON.stringify([layout.size, table.seats, table.devices.map((d) => d.name), table.method]);
    if (shape !== this.shape) {
      this.shape = shape;
      this.layout = layout;
      this.draw(table);
    }
    this.showSeats(table);
    this.showDevices(table);
    this.showCards(table);
    setAttribute(this.root, "aria-label", describe(table));
  }

  // --- fixed parts ---------------------------------------------------------------------------------------------

  draw(table) {
    const { size, felt, line, boxes } = this.layout;
    this.root.setAttribute("viewBox", `0 0 ${size[0]} ${size[1]}`);
    this.layers = { ground: svg("g", { "aria-hidden": "true" }), seats: svg("g"), cards: svg("g", { "aria-hidden": "true" }), badges: svg("g", { "aria-hidden": "true" }) };
    this.cards.clear();
    this.seatNodes.clear();
    this.deviceNodes.clear();
    const glow = svg("radialGradient", { id: "felt", cx: "50%", cy: "62%", r: "75%" },
      svg("stop", { offset: "0", class: "felt-light" }), svg("stop", { offset: "1", class: "felt-dark" }));
    this.root.replaceChildren(svg("defs", {}, glow), ...Object.values(this.layers));
    const ground = this.layers.ground;
    ground.append(svg("path", { d: felt, class: "felt", fill: "url(#felt)" }), svg("path", { d: line, class: "felt-line" }));
    for (let number = 1; number <= table.seats; number++) this.layers.seats.append(this.drawSeat(number, table.seats));
    for (const device of table.devices) if (boxes[device.name]) ground.append(this.drawDevice(device.name, boxes[device.name]));
    if (!table.devices.some((device) => device.name === "shoe") && table.method === "manual_shoe")
      ground.append(box(boxes.shoe, "Shoe"));
    ground.append(box(boxes.rack, "Rack"));
    const [x, y, w, h] = boxes.dealer;
    this.dealerNode = svg("g", { class: "dealer" },
      svg("rect", { x, y, width: w, height: h, rx: 14, class: "dealer-place" }),
      svg("text", { x: x + w / 2, y: y - 8, class: "place-name", "text-anchor": "middle", text: "Dealer" }));
    ground.append(this.dealerNode);
  }

  seatAt(number, seats) {
    const { x, y, rx, ry, from, to } = this.layout.arc;
    const part = seats === 1 ? 0.5 : (number - 1) / (seats - 1);
    const angle = ((from + (to - from) * part) * Math.PI) / 180;
    return [x + rx * Math.cos(angle), y - ry * Math.sin(angle)];
  }

  drawSeat(number, seats) {
    const [x, y] = this.seatAt(number, seats);
    const r = this.layout.seat;
    const tap = () => this.wagers[1] && this.tapSeat(number);
    const press = (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); tap(); } };
    const node = svg("g", { class: "seat", transform: `translate(${x} ${y})`, data: { seat: number }, onclick: tap, onkeydown: press },
      svg("circle", { r, class: "seat-ring" }),
      svg("circle", { r: r + 6, class: "seat-due" }),
      svg("circle", { cy: -r, r: 18, class: "seat-tag" }),
      svg("text", { y: 9 - r, class: "seat-number", "text-anchor": "middle", "aria-hidden": "true", text: number }));
    this.seatNodes.set(number, node);
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
    const stacks = new Map((round && !round.void ? round.stacks : []).map((stack) => [stack.target, stack.state]));
    for (const [number, node] of this.seatNodes) {
      const state = stacks.get(`seat${number}`);
      node.classList.toggle("due", state === "due" || state === "at_exit");
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
    this.dealerNode.classList.toggle("due", dealers === "due" || dealers === "at_exit");
    for (const device of table.devices) {
      const node = this.deviceNodes.get(device.name);
      if (!node) continue;
      setAttribute(node, "class", `device is-${device.state} link-${device.link}`);
      const quiet = device.state === "ready" || (this.layout === NARROW && ["working", "out_of_service"].includes(device.state));
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
    const number = Object.values(deck.cards).reduce((sum, n) => sum + Math.max(0, n), 0);
    for (let i = cards.length; i < number; i++) {
      const node = svg("g", { class: "card" }, cardBack(deck.back));
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
      const stays = Math.max(0, deck.cards[place] ?? 0);
      loose.push(...pile.slice(stays).reverse());
    }
    for (const [place, number] of Object.entries(deck.cards)) {
      const there = piles.get(place)?.length ?? 0;
      for (let i = there; i < number && loose.length; i++) loose.shift().place = place;
    }
    for (const card of loose) card.place = "gone"; // cards that the ledger does not have
  }

  lay(cards, deck, index, decks) {
    const heights = new Map();
    for (const card of cards) {
      const at = heights.get(card.place) ?? 0;
      heights.set(card.place, at + 1);
      const shared = decks.length > 1 && decks.every((other) => other.cards[card.place] > 0);
      const [x, y, turn] = this.positionOf(card, at, deck, index, shared);
      const place = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px) rotate(${turn.toFixed(1)}deg) scale(${this.layout.card})`;
      if (place === card.shown) continue;
      card.node.style.transitionDelay = `${Math.min(at, 12) * 22}ms`;
      card.node.style.transform = place;
      card.node.classList.toggle("gone", card.place === "gone");
      card.shown = place;
    }
  }

  positionOf(card, at, deck, index, shared) {
    const number = Math.max(1, deck.cards[card.place] ?? 1);
    const [x, y] = this.anchor(card.place, index, shared);
    if (FANNED.test(card.place)) {
      const middle = at - (number - 1) / 2;
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
    for (const [place, parts] of badges)
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
    this.layers.badges.replaceChildren(...nodes);
  }
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
  return ["The table, seen from the dealer's side.", ...devices, ...decks].join(" ");
}
