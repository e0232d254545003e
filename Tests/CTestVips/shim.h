// Swift cannot call libvips' operations, because they are variadic. This has what tests need to make pictures and
// to look at thumbnails. Each function returns 0, or -1 with the reason in vips_error_buffer().
#pragma once
#include <string.h>
#include <vips/vips.h>

static inline int ctestvips_start(void) {
  if (VIPS_INIT("tests")) return -1;
  // An operation is told from a former one by the addresses of its arguments.
  vips_cache_set_max(0);
  return 0;
}

// Opens a picture in memory, which must stay there. Returns NULL if it is none. Says itself that samples are a PPM:
// libvips takes some of them for SVG, in which it looks for "<svg".
static inline VipsImage *ctestvips_open(const void *data, size_t length) {
  if (length < 2 || memcmp(data, "P6", 2) != 0) return vips_image_new_from_buffer(data, length, "", NULL);
  VipsImage *image = NULL;
  VipsSource *source = vips_source_new_from_memory(data, length);
  if (source == NULL || vips_ppmload_source(source, &image, NULL) != 0) image = NULL;
  if (source != NULL) g_object_unref(source);
  return image;
}

// Encodes a picture of any kind by the ending of a file name and options, such as ".jpg[Q=90]". The caller frees the
// bytes with g_free.
static inline int ctestvips_encode(const void *data, size_t length, const char *suffix, void **bytes,
                                   size_t *count) {
  VipsImage *image = ctestvips_open(data, length);
  if (image == NULL) return -1;
  int result = vips_image_write_to_buffer(image, suffix, bytes, count, NULL);
  g_object_unref(image);
  return result;
}

// Decodes a picture of any kind into samples of a byte, row by row. The caller frees the samples with g_free.
static inline int ctestvips_decode(const void *data, size_t length, int *width, int *height, int *bands,
                                   void **samples, size_t *count) {
  VipsImage *image = ctestvips_open(data, length);
  if (image == NULL) return -1;
  *width = image->Xsize, *height = image->Ysize, *bands = image->Bands;
  *samples = image->BandFmt == VIPS_FORMAT_UCHAR ? vips_image_write_to_memory(image, count) : NULL;
  g_object_unref(image);
  return *samples == NULL ? -1 : 0;
}
