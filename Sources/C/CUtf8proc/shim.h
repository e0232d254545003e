#pragma once
#include <utf8proc.h>

// Converts to normal form C in one buffer of the caller, so that no copy of a password lies in memory that utf8proc
// allocated. `capacity` counts code points; the result is UTF-8 at the start of the buffer. Returns its length in
// bytes; negative if the text is not UTF-8 or does not fit.
static inline ptrdiff_t albumfs_nfc(const void *text, ptrdiff_t count, void *buffer,
                                    ptrdiff_t capacity) {
  const utf8proc_option_t options = (utf8proc_option_t)(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  utf8proc_int32_t *points = (utf8proc_int32_t *)buffer;
  // Leaves the last place free, because utf8proc appends a zero byte.
  utf8proc_ssize_t length = utf8proc_decompose((const utf8proc_uint8_t *)text, count, points,
                                               capacity - 1, options);
  if (length < 0) return length;
  if (length > capacity - 1) return UTF8PROC_ERROR_OVERFLOW;
  return utf8proc_reencode(points, length, options);
}

// Converts to the form in which a search compares texts: no difference between small and capital letters, letters
// with and without marks, and letters of other widths. As `albumfs_nfc` otherwise.
static inline ptrdiff_t albumfs_search_form(const void *text, ptrdiff_t count, int32_t *points,
                                            ptrdiff_t capacity) {
  const utf8proc_option_t options =
      (utf8proc_option_t)(UTF8PROC_STABLE | UTF8PROC_COMPAT | UTF8PROC_DECOMPOSE | UTF8PROC_CASEFOLD |
                          UTF8PROC_STRIPMARK | UTF8PROC_IGNORE);
  utf8proc_ssize_t length =
      utf8proc_decompose((const utf8proc_uint8_t *)text, count, points, capacity, options);
  return length > capacity ? UTF8PROC_ERROR_OVERFLOW : length;
}

// The number of code points in normal form D, an upper bound for those in normal form C; negative if the text is
// not UTF-8.
static inline ptrdiff_t albumfs_nfd_length(const void *text, ptrdiff_t count) {
  return utf8proc_decompose((const utf8proc_uint8_t *)text, count, 0, 0,
                            (utf8proc_option_t)(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE));
}
