/**
 * Numbers as people read them. Values are integers with a unit or a decimal scale; nothing here goes through a float.
 * @module format
 */

const MINUS = '\u2212';

/**
 * An integer with a decimal scale: 12345 at scale 2 is 123.45.
 *
 * @param {number|string|bigint} value
 * @param {number} scale digits after the point
 * @param {{trim?: boolean}} [options] trim: drop zeros at the end (100.00 becomes 100)
 * @returns {string}
 */
export function formatDecimal(value, scale = 0, { trim = false } = {}) {
  const integer = BigInt(value);
  const digits = (integer < 0n ? -integer : integer).toString().padStart(scale + 1, '0');
  const whole = digits.slice(0, digits.length - scale);
  let fraction = scale ? digits.slice(-scale) : '';
  if (trim) fraction = fraction.replace(/0+$/, '');
  return (integer < 0n ? MINUS : '') + whole + (fraction && `.${fraction}`);
}

/**
 * Seconds as h:mm:ss. Hours are not cut at a day.
 *
 * @param {number|string|bigint} seconds
 * @returns {string}
 */
export function formatSeconds(seconds) {
  const integer = BigInt(seconds);
  const total = integer < 0n ? -integer : integer;
  const two = part => part.toString().padStart(2, '0');
  return `${integer < 0n ? MINUS : ''}${total / 3600n}:${two((total / 60n) % 60n)}:${two(total % 60n)}`;
}

/**
 * A value of a column.
 *
 * @param {number|string|bigint} value
 * @param {{unit?: "min"|"s", scale?: number}} column
 * @param {{trim?: boolean}} [options]
 * @returns {string}
 */
export function formatValue(value, column, options) {
  return column.unit === 's' ? formatSeconds(value) : formatDecimal(value, column.scale ?? 0, options);
}
