/**
 * Writes names of files and albums so that they read as what they are: a name may hold characters that turn
 * the order of what stands beside it, and characters that nobody sees.
 * @module
 */

/**
 * Characters without a shape of their own: controls, formats such as U+202E, fillers, and blanks that no
 * keyboard writes.
 */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** What writing needs inside words and emoji: joiners, variation selectors, and the tags of flags. */
const joining = /[\u200c\u200d\ufe00-\ufe0f\u{e0020}-\u{e007f}\u{e0100}-\u{e01ef}]/u;

/** What is written from right to left turns signs beside it. */
const turning = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;

/** FIRST STRONG ISOLATE and POP DIRECTIONAL ISOLATE. */
const [isolate, pop] = ["\u2068", "\u2069"];

/**
 * Returns a name with its unseen characters written out, as `‹U+202E›`.
 * @param {string} name
 */
export function shown(name) {
  let written = "";
  let before = "";
  for (const character of name) {
    const isSeen = !unseen.test(character) || joins(before, character);
    written += isSeen ? character : `‹U+${codeOf(character)}›`;
    before = isSeen ? character : "";
  }
  return written;
}

/**
 * Tells whether a character belongs to the one before it, as in words of some scripts and in emoji.
 * @param {string} before
 * @param {string} character
 */
function joins(before, character) {
  const isOfKey = character === "\ufe0f" && /[0-9#*]/.test(before);
  return joining.test(character) && (before > "\u007f" || isOfKey);
}

/** @param {string} character */
function codeOf(character) {
  return (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
}

/**
 * Returns a name for use inside a sentence, whose order it does not turn.
 * @param {string} name
 */
export function isolated(name) {
  const written = shown(name);
  return turning.test(written) ? isolate + written + pop : written;
}

/**
 * Reads names that commas separate.
 * @param {string} text
 */
export function namesIn(text) {
  return [...new Set(text.split(/[,;\n]/).map((name) => name.trim()).filter(Boolean))];
}
