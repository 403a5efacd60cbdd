// Where everything lies on the felt. Three layouts have the seats on an arc, for wide, tall and narrow spaces. If a game
// deals to hands that belong to no seat, or sets cards in rows, the layout is worked out from its description.

export const CARD = { w: 40, h: 56 };

const WIDE = {
  size: [1000, 452], card: 1,
  felt: "M22 424V312C22 96 252 16 500 16s478 80 478 296v112q0 12-12 12H34q-12 0-12-12Z",
  line: "M92 300C110 150 290 84 500 84s390 66 408 216",
  arc: { x: 500, y: 400, rx: 402, ry: 290, from: 144, to: 36 },
  spots: {
    infeed: [84, 370], shelves: [146, 370], output: [146, 370], tray: [208, 370],
    shoe: [304, 370], held: [362, 370], manual_shoe: [332, 370], exit: [446, 370],
    dealer: [546, 370], hand: [654, 370], missing: [664, 370], aside: [716, 370], discards: [716, 370], burnt: [716, 370],
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
    dealer: [612, 580], hand: [612, 420], missing: [500, 400], aside: [400, 420], discards: [400, 420], burnt: [400, 420],
    rack: [820, 580], stub: [906, 580], gone: [1090, 400],
  },
  table: { x: [390, 610], y: 330, ribbon: [500, 280, 92], step: 6.4, aside: [250, 750] },
  boxes: { shuffler: [38, 504, 226, 146], shoe: [280, 504, 150, 146], rack: [768, 504, 194, 146], dealer: [540, 504, 146, 146] },
  seat: 62,
  letters: { shuffler: 10, shoe: 14 }, // how long what a device does may be, beside its name
};

const NARROW = {
  size: [560, 640], card: 1, narrow: true,
  felt: "M12 622V330C12 110 120 12 280 12s268 98 268 318v292q0 10-10 10H22q-10 0-10-10Z",
  line: "M56 330C60 160 150 92 280 92s220 68 224 238",
  arc: { x: 280, y: 330, rx: 212, ry: 232, from: 170, to: 10 },
  spots: {
    infeed: [48, 448], shelves: [104, 448], output: [104, 448], tray: [160, 448],
    shoe: [244, 448], held: [290, 448], manual_shoe: [262, 448], exit: [366, 448],
    dealer: [280, 576], hand: [400, 576], missing: [470, 576], aside: [130, 576], discards: [90, 576], burnt: [90, 576],
    rack: [452, 448], stub: [512, 448], gone: [640, 320],
  },
  table: { x: [215, 345], y: 296, ribbon: [280, 262, 62], step: 3.8, aside: [130, 430] },
  boxes: { shuffler: [20, 396, 172, 108], shoe: [206, 396, 114, 108], rack: [418, 396, 126, 108], dealer: [212, 538, 136, 82] },
  seat: 38,
  letters: { shuffler: 7, shoe: 14 }, // how long what a device does may be, beside its name
};

export const LONGEST_ROW = 5; // cards
const WIDEST = LONGEST_ROW * (CARD.w + 2);
const NAMED = (hand) => !/^(seat\d+|dealer)$/.test(hand.name);

/** The hands that belong to no seat and are not the dealer's, such as those on which everybody bets. */
export const namedHands = (table) => (table.hands ?? []).filter((hand) => NAMED(hand) && !/^(burnt|discards)$/.test(hand.name));

/** The hands that are set in rows with names, in the order of the seats. */
export function rowsOf(table) {
  const blocks = (table.board ?? []).filter((block) => block.hand && Object.keys(block.cards).some(Boolean));
  const number = (block) => Number(/\d+/.exec(block.hand)?.[0] ?? 99);
  return blocks.sort((a, b) => number(a) - number(b));
}

export function layoutFor([wide, high], table) {
  const base = wide < 520 ? NARROW : wide / Math.max(1, high) > 1.75 ? WIDE : TALL;
  const named = namedHands(table), narrow = Boolean(base.narrow);
  const boxes = table.hands?.length && table.hands.every((hand) => hand.name.startsWith("seat")) ? seatBoxes(table) : [];
  if (!named.length && !boxes.length) return table.seats > 6 ? { ...base, seat: base.seat * (narrow ? 0.72 : 0.9) } : base;
  const inLines = Math.ceil(boxes.length / 2) * (boxes.some((box) => box.names.length) ? 270 : 130);
  const size = narrow ? [560, boxes.length ? 130 + inLines : 460]
    : [1000, Math.round(Math.min(820, Math.max(300, (1000 * high) / Math.max(1, wide))))];
  const strip = bottomStrip(size, narrow);
  const felt = `M12 ${size[1] - 12}V60Q12 12 60 12H${size[0] - 60}Q${size[0] - 12} 12 ${size[0] - 12} 60V${size[1] - 12}Z`;
  const found = { ...base, ...strip, size, felt, line: "", card: 0.85, letters: { shuffler: narrow ? 7 : 10, shoe: narrow ? 7 : 12 } };
  return boxes.length ? { ...found, ...inBoxes(size, strip.top, boxes, narrow) } : { ...found, ...inTheMiddle(size, strip.top, named, table.seats, narrow) };
}

/** The seats that get a box: those that play, or all between two rounds; with the names of the rows of their hands. */
function seatBoxes(table) {
  const rows = new Map(rowsOf(table).map((block) => [block.hand, Object.keys(block.cards)]));
  return table.hands.map((hand) => hand.name).filter((name) => !table.round || table.round.seats.includes(Number(name.slice(4))))
    .map((hand) => ({ hand, names: rows.get(hand) ?? [] }));
}

/** The devices and piles along the dealer's edge of the table. */
function bottomStrip([w, h], narrow) {
  const high = 66, y = h - high - 20, at = y + high / 2;
  const x = narrow
    ? { shuffler: [22, 140], shoe: [174, 104], exit: 306, pile: 350, stub: 412, rack: [440, 100], table: [330, 400] }
    : { shuffler: [30, 190], shoe: [240, 140], exit: 430, pile: 560, stub: 690, rack: [776, 194], table: [580, 680] };
  const [sx, sw] = x.shuffler, [hx, hw] = x.shoe, [rx, rw] = x.rack;
  return {
    top: y - 32,
    spots: {
      infeed: [sx + sw * 0.2, at], shelves: [sx + sw * 0.5, at], output: [sx + sw * 0.5, at], tray: [sx + sw * 0.8, at],
      shoe: [hx + hw * 0.35, at], held: [hx + hw * 0.7, at], manual_shoe: [hx + hw * 0.5, at], exit: [x.exit, at],
      dealer: [x.pile, at], hand: [x.exit, at], missing: [w / 2, h * 0.45], aside: [x.stub, at], discards: [x.pile, at], burnt: [x.pile, at],
      rack: [rx + rw * 0.3, at], stub: [rx + rw * 0.72, at], gone: [w + 80, at],
    },
    table: { x: x.table, y: at, ribbon: [w / 2, h * 0.36, narrow ? 62 : 56], step: narrow ? 3.8 : 5.2, aside: x.table },
    boxes: { shuffler: [sx, y, sw, high], shoe: [hx, y, hw, high], rack: [rx, y, rw, high] },
    piles: { discards: [x.pile, y - 8], burnt: [x.pile, y - 8] },
  };
}

/** Named hands in the middle of the table, and the seats as a row of small circles beyond them. */
function inTheMiddle([w, h], bottom, named, seats, narrow) {
  const gap = w / (seats + 0.6), seat = Math.min(26, gap * 0.4), row = 24 + seat;
  const top = row + seat + 26;
  const wide = (w - 40) / named.length;
  const beside = Math.min(3, (wide - 190) / (3.3 * CARD.w), (bottom - top - 14) / CARD.h);
  const below = Math.min(3, (wide - 40) / (3.3 * CARD.w), (bottom - top - 46) / CARD.h);
  const card = Math.max(beside, below), [right, down] = beside > below ? [66, 0] : [0, 14]; // the name of the hand is beside its cards, or above
  const hands = {};
  named.forEach((hand, index) => {
    const x = 20 + wide * (index + 0.5);
    hands[hand.name] = { box: [x - wide / 2 + 8, top, wide - 16, bottom - top], at: [x + right, (top + bottom) / 2 + down], card, step: CARD.w * card * 1.06 };
  });
  const at = Object.fromEntries(Array.from({ length: seats }, (_, index) => [index + 1, [gap * (index + 0.8), row]]));
  return { hands, seat, touch: Math.min(gap / 2, row), seatsAt: at, small: true }; // a finger needs more room than the circle
}

/** A box for each seat, side by side; on a phone two beside each other. */
function inBoxes([w], bottom, boxes, narrow) {
  const columns = narrow ? 2 : Math.max(boxes.length, 2), lines = Math.ceil(boxes.length / columns);
  const wide = (w - 36) / columns, high = (bottom - 22) / lines;
  const hands = {};
  boxes.forEach(({ hand, names }, index) => {
    const x = 18 + wide * (index % columns), y = 20 + high * Math.floor(index / columns);
    const box = [x + 4, y, wide - 8, high - 6];
    if (!names.length) {
      const card = Math.min(2.2, (wide - 30) / (4.1 * CARD.w), (high - 56) / CARD.h); // six cards, of which each shows more than half
      hands[hand] = { box, at: [x + wide / 2, y + 14 + high / 2], card, step: CARD.w * card * 1.05 };
      return;
    }
    const beside = Math.min((wide - 80) / WIDEST, (high - 44 - 5 * names.length) / (names.length * CARD.h));
    const below = Math.min((wide - 30) / WIDEST, (high - 40 - 20 * names.length) / (names.length * CARD.h));
    const left = beside > below; // the names of the rows are at their left, or above them where that leaves larger cards
    const card = Math.min(1.8, Math.max(beside, below)), step = (CARD.w + 2) * card;
    const line = CARD.h * card + (left ? 5 : 20), over = left ? 54 : 0;
    const from = x + over + (wide - over - LONGEST_ROW * step) / 2 + step / 2;
    const rows = names.map((name, number) => {
      const at = y + (left ? 36 : 50) + line * number + (CARD.h / 2) * card;
      return { name, x: from, y: at, label: left ? [from - step / 2 - 8, at + 6] : [from - step / 2 + 2, at - (CARD.h / 2) * card - 4] };
    });
    hands[hand] = { box, card, step, rows, left };
  });
  return { hands, small: true };
}
