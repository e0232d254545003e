// Swift cannot call libvips' operations, because they are variadic. This has what tests need to make pictures and
// to look at thumbnails. Each function returns 0, or -1 with the reason in vips_error_buffer().
#pragma once
#include <vips/vips.h>

static inline int ctestvips_start(void) {
  if (VIPS_INIT("tests")) return -1;
  // An operation is told from a former one by the addresses of its arguments.
  vips_cache_set_max(0);
  return 0;
}

// Encodes a picture of any kind by the ending of a file name and options, such as ".jpg[Q=90]". The caller frees the
// bytes with g_free.
static inline int ctestvips_encode(const void *data, size_t length, const char *suffix, void **bytes,
                                   size_t *count) {
  VipsImage *image = vips_image_new_from_buffer(data, length, "", NULL);
  if (image == NULL) return -1;
  int result = vips_image_write_to_buffer(image, suffix, bytes, count, NULL);
  g_object_unref(image);
  return result;
}

// Decodes a picture of any kind into samples of a byte, row by row. The caller frees the samples with g_free.
static inline int ctestvips_decode(const void *data, size_t length, int *width, int *height, int *bands,
                                   void **samples, size_t *count) {
  VipsImage *image = vips_image_new_from_buffer(data, length, "", NULL);
  if (image == NULL) return -1;
  *width = image->Xsize, *height = image->Ysize, *bands = image->Bands;
  *samples = image->BandFmt == VIPS_FORMAT_UCHAR ? vips_image_write_to_memory(image, count) : NULL;
  g_object_unref(image);
  return *samples == NULL ? -1 : 0;
}
