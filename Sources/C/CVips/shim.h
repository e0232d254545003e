// Swift cannot call libvips' operations, because they are variadic. This has one inline function for each
// operation that albumfs-thumbnailer uses, with the options that it uses. Each returns the operation's result: 0,
// or -1 with the reason in vips_error_buffer().
#pragma once
#include <gmodule.h>
#include <vips/vips.h>

// A macro.
static inline int cvips_init(const char *program) { return VIPS_INIT(program); }

static inline void cvips_unref(VipsImage *image) { g_object_unref(image); }

// Loads a module of libvips for good. The module registers its operations while it loads.
static inline int cvips_load_module(const char *path) {
  GModule *module = g_module_open(path, (GModuleFlags)0);
  if (module == NULL) return -1;
  g_module_make_resident(module);
  return 0;
}

static inline gpointer cvips_symbol(const char *name) {
  gpointer symbol = NULL;
  GModule *program = g_module_open(NULL, (GModuleFlags)0);
  if (program == NULL || !g_module_symbol(program, name, &symbol)) return NULL;
  return symbol;
}

// libheif itself is loaded only at run time, and loads its codecs with the first of these calls.
static inline void cvips_heif_init(void) {
  typedef struct {
    int code, subcode;
    const char *message;
  } heif_error;
  heif_error (*init)(void *) = (heif_error (*)(void *))cvips_symbol("heif_init");
  if (init != NULL) init(NULL);
}

// `compression` is libheif's enumeration: 1 HEVC, 4 AV1.
static inline int cvips_heif_can_decode(int compression) {
  int (*can)(int) = (int (*)(int))cvips_symbol("heif_have_decoder_for_format");
  return can != NULL && can(compression);
}

static inline int cvips_has_operation(const char *name) {
  return vips_type_find("VipsOperation", name) != 0;
}

// Reads only the header.
static inline VipsImage *cvips_open(const void *data, size_t length, VipsFailOn fail_on) {
  return vips_image_new_from_buffer(data, length, "", "access", VIPS_ACCESS_SEQUENTIAL, "fail_on",
                                    fail_on, NULL);
}

static inline int cvips_load_heif_thumbnail(const void *data, size_t length, VipsImage **out) {
  return vips_heifload_buffer((void *)data, length, out, "thumbnail", TRUE, NULL);
}

static inline int cvips_thumbnail(const void *data, size_t length, VipsImage **out, int edge,
                                  VipsFailOn fail_on) {
  return vips_thumbnail_buffer((void *)data, length, out, edge, "height", edge, "size",
                               VIPS_SIZE_DOWN, "fail_on", fail_on, NULL);
}

// `shrink` is 1, 2, 4 or 8: libjpeg shrinks while it decodes. Decodes later.
static inline int cvips_load_jpeg(const void *data, size_t length, VipsImage **out, int shrink,
                                  VipsFailOn fail_on, int unlimited) {
  return vips_jpegload_buffer((void *)data, length, out, "shrink", shrink, "fail_on", fail_on,
                              "unlimited", unlimited, "access", VIPS_ACCESS_SEQUENTIAL, NULL);
}

static inline int cvips_thumbnail_image(VipsImage *in, VipsImage **out, int edge) {
  return vips_thumbnail_image(in, out, edge, "height", edge, "size", VIPS_SIZE_DOWN, NULL);
}

static inline int cvips_shrink(VipsImage *in, VipsImage **out, int factor) {
  return vips_shrink(in, out, factor, factor, NULL);
}

// The brightness of so many squares in a row and in a column, whatever the shape of the picture. A byte for each.
static inline int cvips_squares(VipsImage *in, VipsImage **out, int edge) {
  VipsImage *steps[4] = {NULL};
  int result = -1;
  int is_opaque = !vips_image_hasalpha(in);
  if (!(is_opaque ? vips_copy(in, &steps[0], NULL) : vips_flatten(in, &steps[0], NULL)) &&
      !vips_thumbnail_image(steps[0], &steps[1], edge, "height", edge, "size", VIPS_SIZE_FORCE, NULL) &&
      !vips_colourspace(steps[1], &steps[2], VIPS_INTERPRETATION_B_W, NULL) &&
      !vips_extract_band(steps[2], &steps[3], 0, NULL))
    result = vips_cast_uchar(steps[3], out, NULL);
  for (int step = 0; step < 4; step++)
    if (steps[step] != NULL) g_object_unref(steps[step]);
  return result;
}

// EXIF's orientation.
static inline int cvips_orient(VipsImage *in, VipsImage **out, int orientation) {
  if (vips_copy(in, out, NULL)) return -1;
  vips_image_set_int(*out, VIPS_META_ORIENTATION, orientation);
  return 0;
}

// Clockwise.
static inline int cvips_turn(VipsImage *in, VipsImage **out, int quarters) {
  return vips_rot(in, out, quarters & 3, NULL);
}

static inline int cvips_is_interlaced(VipsImage *image) {
  int is_multiscan = 0, is_interlaced = 0;
  if (vips_image_get_typeof(image, "jpeg-multiscan") != 0)
    vips_image_get_int(image, "jpeg-multiscan", &is_multiscan);
  if (vips_image_get_typeof(image, "interlaced") != 0)
    vips_image_get_int(image, "interlaced", &is_interlaced);
  return is_multiscan || is_interlaced;
}

static inline int cvips_is_cmyk(VipsImage *image) {
  return vips_image_get_interpretation(image) == VIPS_INTERPRETATION_CMYK;
}

static inline int cvips_is_srgb(VipsImage *image) {
  return vips_image_get_interpretation(image) == VIPS_INTERPRETATION_sRGB;
}

static inline int cvips_is_grey_or_rgb(VipsImage *image) {
  switch (vips_image_get_interpretation(image)) {
    case VIPS_INTERPRETATION_MULTIBAND:
    case VIPS_INTERPRETATION_B_W:
    case VIPS_INTERPRETATION_GREY16:
    case VIPS_INTERPRETATION_RGB:
    case VIPS_INTERPRETATION_RGB16:
    case VIPS_INTERPRETATION_sRGB:
      return 1;
    default:
      return 0;
  }
}

static inline int cvips_profile(VipsImage *image, const void **data, size_t *length) {
  if (vips_image_get_typeof(image, VIPS_META_ICC_NAME) == 0) return -1;
  return vips_image_get_blob(image, VIPS_META_ICC_NAME, data, length);
}

// Converts from the colours of the image's own profile.
static inline int cvips_profile_to_srgb(VipsImage *in, VipsImage **out, VipsIntent intent) {
  return vips_icc_transform(in, out, "srgb", "embedded", TRUE, "intent", intent, NULL);
}

static inline int cvips_to_srgb(VipsImage *in, VipsImage **out) {
  return vips_colourspace(in, out, VIPS_INTERPRETATION_sRGB, NULL);
}

static inline int cvips_first_bands(VipsImage *in, VipsImage **out, int count) {
  return vips_extract_band(in, out, 0, "n", count, NULL);
}

static inline int cvips_cast_uchar(VipsImage *in, VipsImage **out) {
  return vips_cast_uchar(in, out, NULL);
}

// Samples of 0 to 1 become bytes of sRGB, or of the image's own profile; what is beyond is cut off.
static inline int cvips_unit_to_uchar(VipsImage *in, VipsImage **out) {
  VipsImage *scaled = NULL, *bytes = NULL;
  int result = -1;
  if (!vips_linear1(in, &scaled, 255, 0.5, NULL) && !vips_cast_uchar(scaled, &bytes, NULL))
    result = vips_copy(bytes, out, "interpretation",
                       in->Bands < 3 ? VIPS_INTERPRETATION_B_W : VIPS_INTERPRETATION_sRGB, NULL);
  if (scaled != NULL) g_object_unref(scaled);
  if (bytes != NULL) g_object_unref(bytes);
  return result;
}

static inline int cvips_cast_float(VipsImage *in, VipsImage **out) {
  return vips_cast_float(in, out, NULL);
}

// Takes the samples for grey, or for sRGB.
static inline int cvips_reinterpret(VipsImage *in, VipsImage **out, int is_grey) {
  return vips_copy(in, out, "interpretation",
                   is_grey ? VIPS_INTERPRETATION_B_W : VIPS_INTERPRETATION_sRGB, NULL);
}

static inline int cvips_reinterpret_cmyk(VipsImage *in, VipsImage **out) {
  return vips_copy(in, out, "interpretation", VIPS_INTERPRETATION_CMYK, NULL);
}

// Keeps the upper byte of wider samples.
static inline int cvips_bytes_to_cmyk(VipsImage *in, VipsImage **out) {
  VipsImage *bytes = NULL;
  if (vips_msb(in, &bytes, NULL)) return -1;
  int result = cvips_reinterpret_cmyk(bytes, out);
  g_object_unref(bytes);
  return result;
}

// Red, green and blue of the first three bands as brightness and two differences of colours (IEC 61966-2-1, annex F).
// Keeps the upper byte of wider samples.
static inline int cvips_ycc_to_srgb(VipsImage *in, VipsImage **out) {
  VipsImage *steps[5] = {NULL};
  double one[] = {1, 1, 1}, offset[] = {0, -128, -128};
  VipsImage *matrix = vips_image_new_matrixv(3, 3, 1.0, 0.0, 1.402, 1.0, -0.344136, -0.714136, 1.0, 1.772, 0.0);
  int result = -1;
  if (matrix != NULL && !vips_extract_band(in, &steps[0], 0, "n", 3, NULL) &&
      !vips_msb(steps[0], &steps[1], NULL) && !vips_linear(steps[1], &steps[2], one, offset, 3, NULL) &&
      !vips_recomb(steps[2], &steps[3], matrix, NULL) && !vips_linear1(steps[3], &steps[4], 1, 0.5, NULL)) {
    VipsImage *bytes = NULL;
    if (!vips_cast_uchar(steps[4], &bytes, NULL)) {
      result = vips_copy(bytes, out, "interpretation", VIPS_INTERPRETATION_sRGB, NULL);
      g_object_unref(bytes);
    }
  }
  for (int step = 0; step < 5; step++)
    if (steps[step] != NULL) g_object_unref(steps[step]);
  if (matrix != NULL) g_object_unref(matrix);
  return result;
}

static inline void cvips_set_profile(VipsImage *image, const void *data, size_t length) {
  vips_image_set_blob_copy(image, VIPS_META_ICC_NAME, data, length);
}

static inline int cvips_save_jpeg(VipsImage *in, void **bytes, size_t *length, int quality) {
  return vips_jpegsave_buffer(in, bytes, length, "Q", quality, "strip", TRUE, "optimize_coding",
                              TRUE, NULL);
}

static inline int cvips_save_png(VipsImage *in, void **bytes, size_t *length) {
  return vips_pngsave_buffer(in, bytes, length, "strip", TRUE, "filter",
                             VIPS_FOREIGN_PNG_FILTER_ALL, NULL);
}

static inline int cvips_save_webp(VipsImage *in, void **bytes, size_t *length, int quality,
                                  int is_lossless) {
  return vips_webpsave_buffer(in, bytes, length, "Q", quality, "lossless", is_lossless, "strip",
                              TRUE, NULL);
}
