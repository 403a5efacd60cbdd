// The cards that the step asks for are entered beside the picture, without opening a form: on a pad, or by choosing some
// of the hand's cards. With one card to enter, the last tap is enough.

import { cardChoice, cardPad, emptyEntry } from "./card_pad.js";
import { byId, capitalise, el, fill, handWords, plural } from "./dom.js";
import { cardsOf } from "./fields.js";

let entry = emptyEntry();
let wanted = null;
let key = "";

/** Which cards the step asks for; null if it asks for none. */
function cardsWanted(table, offers) {
  const hand = (name) => table.hands.find((one) => one.name === name);
  for (const { offer } of offers) {
    if (offer.action === "enter_cards" && hand(offer.target)?.to_enter) return { offer, target: offer.target, most: hand(offer.target).to_enter, at: hand(offer.target).kinds.length };
    if (offer.action === "deal_cards" && offer.cards) return { offer, target: offer.target, most: offer.cards, at: hand(offer.target)?.cards };
    const about = offer.action === "decide_hand" && offer.target && cardsOf(offer.choice);
    if (about) return { offer, target: offer.target, most: 0, ...about, at: hand(offer.target)?.decisions.length };
  }
  return null;
}

/** Draw the pad for the cards of this step; `enter` takes an action once its cards are complete. */
export function showEntry(table, offers, known, enter) {
  wanted = cardsWanted(table, offers);
  const now = JSON.stringify([table.round?.number, wanted]);
  if (now !== key) entry = { ...emptyEntry(), first: entry.kinds.length ? "" : entry.first, second: entry.kinds.length ? "" : entry.second };
  if (now !== key && wanted) byId("entry").parentElement.scrollTop = 0; // it is the first beside the picture
  key = now;
  const field = wanted && known.get(wanted.offer.action)?.fields.find((one) => one.name === "kinds");
  const left = field && (field.possible ?? field.choices);
  fill(byId("entry"), wanted && field ? [now, left] : null, () => {
    if (!wanted || !field) return [];
    const title = wanted.cards ? `Cards that ${handWords(wanted.target)} places` : `${plural(wanted.most, "card")} of ${handWords(wanted.target)}`;
    const at = wanted;
    const changed = (added) => {
      if (added && at.most === 1 && at.offer.action !== "decide_hand") enter(at.offer);
    };
    return [el("h2", { text: capitalise(title) }), wanted.cards ? cardChoice(wanted.cards, entry, changed)
      : cardPad({ kinds: field.choices, left, most: wanted.most, entry, changed })];
  });
}

/** The cards that go with an action as `fields`, or what is `missing`; neither if it is not about cards of this step. */
export function enteredFor(offer) {
  if (!wanted || offer.target !== wanted.target || (offer.action && offer.action !== wanted.offer.action) || offer.kinds) return {};
  if (!offer.action) return {};
  const kinds = [...entry.kinds];
  if (offer.action !== "decide_hand")
    return kinds.length === wanted.most ? { fields: { kinds } } : { missing: `Tap the cards first: ${plural(wanted.most, "card")} of ${handWords(wanted.target)}.` };
  const about = cardsOf(offer.choice);
  if (!about) return {};
  if (about.cards) {
    const chosen = kinds.length || about.cards.length > 1 ? kinds : about.cards;
    return chosen.length ? { fields: { kinds: chosen } } : { missing: "Tap the cards first, then where they are placed." };
  }
  if (!kinds.length) return { fields: {} }; // a shoe that recognises cards names them
  return kinds.length === about.most ? { fields: { kinds } } : { missing: `Tap all ${plural(about.most, "card")} first.` };
}
