// libtiff reads a picture that lies in memory. Its callbacks and variadic functions are beyond Swift's reach.
#pragma once
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>

struct ctiff_memory {
  const uint8_t *bytes;
  uint64_t count, place;
};

static inline tmsize_t ctiff_read(thandle_t handle, void *buffer, tmsize_t wanted) {
  struct ctiff_memory *memory = (struct ctiff_memory *)handle;
  uint64_t left = memory->place < memory->count ? memory->count - memory->place : 0;
  uint64_t count = wanted < 0 ? 0 : (uint64_t)wanted < left ? (uint64_t)wanted : left;
  memcpy(buffer, memory->bytes + (count > 0 ? memory->place : 0), count);
  memory->place += count;
  return (tmsize_t)count;
}

static inline tmsize_t ctiff_write(thandle_t handle, void *buffer, tmsize_t count) { return -1; }

static inline toff_t ctiff_seek(thandle_t handle, toff_t offset, int whence) {
  struct ctiff_memory *memory = (struct ctiff_memory *)handle;
  uint64_t base = whence == SEEK_CUR ? memory->place : whence == SEEK_END ? memory->count : 0;
  memory->place = base + offset;
  return memory->place;
}

static inline int ctiff_close(thandle_t handle) { return 0; }

static inline toff_t ctiff_size(thandle_t handle) { return ((struct ctiff_memory *)handle)->count; }

static inline void ctiff_quiet(void) {
  TIFFSetErrorHandler(NULL);
  TIFFSetWarningHandler(NULL);
}

// `memory` must outlive the result. NULL if it is no TIFF.
static inline TIFF *ctiff_open(struct ctiff_memory *memory) {
  return TIFFClientOpen("picture", "rm", (thandle_t)memory, ctiff_read, ctiff_write, ctiff_seek, ctiff_close,
                        ctiff_size, NULL, NULL);
}

// 0 if a field is not there.
static inline int ctiff_short(TIFF *tiff, uint32_t tag) {
  uint16_t value = 0;
  return TIFFGetFieldDefaulted(tiff, tag, &value) ? value : 0;
}

static inline uint32_t ctiff_long(TIFF *tiff, uint32_t tag) {
  uint32_t value = 0;
  return TIFFGetField(tiff, tag, &value) ? value : 0;
}

// Decodes the first page: 4 bytes a pixel, red, green, blue and opacity, in the order of the file. `pixels` has room
// for all of them. Returns 1, or 0 where it is damaged, or libtiff has no conversion to these colours.
static inline int ctiff_decode(TIFF *tiff, uint32_t *pixels, uint32_t width, uint32_t height) {
  TIFFRGBAImage image;
  char reason[1024];
  if (!TIFFRGBAImageOK(tiff, reason) || !TIFFRGBAImageBegin(&image, tiff, 1, reason)) return 0;
  // The caller turns the picture.
  image.req_orientation = image.orientation;
  int ok = TIFFRGBAImageGet(&image, pixels, width, height);
  TIFFRGBAImageEnd(&image);
  return ok;
}
