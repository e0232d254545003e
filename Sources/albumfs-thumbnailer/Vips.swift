import CLinux
import CVips
import Glibc
import ThumbnailProtocol

/// Why a picture gets no thumbnail.
struct Rejection: Error {
  var failure: PictureFailure
  var reason: String
  init(_ failure: PictureFailure, _ reason: String) {
    self.failure = failure
    self.reason = reason
  }
}

/// Wraps libvips; no other file calls it. For one thread.
enum Vips {
  /// The limit on a picture's pixels. libvips shrinks most kinds while it reads them; for the others, the
  /// cell's memory is a lower limit.
  static let pixelLimit: Int64 = 500_000_000
  private static let quality: CInt = 80

  /// Starts libvips and loads everything that it would load later, because the cell cannot open files. Leaves
  /// the process with one thread.
  static func start(program: String) -> Bool {
    // libvips would load all its modules, ImageMagick's and poppler's too. It looks for them below VIPSHOME;
    // the useful ones are loaded by name.
    unsafe setenv("VIPSHOME", "/nonexistent", 1)
    // libvips would compile loops at run time into memory that is writable and executable.
    unsafe setenv("VIPS_NOVECTOR", "1", 1)
    guard unsafe cvips_init(program) == 0 else { return false }
    loadModules()
    cvips_heif_init()
    vips_concurrency_set(1)
    vips_cache_set_max(0)
    unsafe vips_operation_block_set("VipsForeignLoad", 1)
    for kind in ImageKind.allCases { unsafe vips_operation_block_set(loaderClass(of: kind), 0) }
    return true
  }

  /// Loads nothing if the modules are part of the library.
  private static func loadModules() {
    guard let library = unsafe clinux_library_of_symbol("vips_init") else { return }
    let path = unsafe String(cString: library)
    guard let slash = path.lastIndex(of: "/") else { return }
    let modules = "\(path[..<slash])/vips-modules-\(vips_version(0)).\(vips_version(1))"
    for name in ["heif", "jxl"] { _ = unsafe cvips_load_module("\(modules)/vips-\(name).so") }
  }

  /// The kinds that this libvips can read with the installed codecs.
  static func readableKinds() -> Set<ImageKind> {
    var kinds = Set(
      ImageKind.allCases.filter { unsafe cvips_has_operation(loaderName(of: $0)) != 0 })
    let hevc: CInt = 1
    let av1: CInt = 4
    if cvips_heif_can_decode(hevc) == 0 { kinds.remove(.heif) }
    if cvips_heif_can_decode(av1) == 0 { kinds.remove(.avif) }
    return kinds
  }

  private static func loaderClass(of kind: ImageKind) -> String {
    switch kind {
    case .jpeg: "VipsForeignLoadJpeg"
    case .png: "VipsForeignLoadPng"
    case .webp: "VipsForeignLoadWebp"
    case .gif: "VipsForeignLoadNsgif"
    case .tiff: "VipsForeignLoadTiff"
    case .heif, .avif: "VipsForeignLoadHeif"
    case .jpegXL: "VipsForeignLoadJxl"
    }
  }

  private static func loaderName(of kind: ImageKind) -> String {
    switch kind {
    case .jpeg: "jpegload_buffer"
    case .png: "pngload_buffer"
    case .webp: "webpload_buffer"
    case .gif: "gifload_buffer"
    case .tiff: "tiffload_buffer"
    case .heif, .avif: "heifload_buffer"
    case .jpegXL: "jxlload_buffer"
    }
  }

  /// Makes a thumbnail whose long edge has at most `edge` pixels: never enlarged, upright, sRGB, without
  /// metadata.
  static func thumbnail(of picture: UnsafeRawBufferPointer, kind: ImageKind, edge: UInt32)
    throws(Rejection) -> (ImageKind, [UInt8])
  {
    vips_error_clear()
    let longEdge = try unsafe check(picture, kind: kind)
    let image = try unsafe decode(picture, kind: kind, longEdge: longEdge, edge: CInt(edge))
    return try encode(image, original: kind)
  }

  /// Reads the header. Checks that the loader matches the detected kind and that the number of pixels is
  /// within the limit. Returns the long edge in pixels.
  private static func check(_ picture: UnsafeRawBufferPointer, kind: ImageKind) throws(Rejection)
    -> CInt
  {
    guard let found = unsafe vips_foreign_find_load_buffer(picture.baseAddress, picture.count)
    else { throw failure("no loader") }
    guard unsafe String(cString: found).hasPrefix(loaderClass(of: kind)) else {
      throw Rejection(.notAPicture, "another kind than it seems")
    }
    guard let header = unsafe Image(cvips_open(picture.baseAddress, picture.count)) else {
      throw failure("header")
    }
    let pixels = Int64(header.width) * Int64(header.height)
    if pixels > pixelLimit { throw Rejection(.tooLarge, "\(pixels) pixels") }
    return max(header.width, header.height)
  }

  /// Decodes and shrinks. If the picture has errors, decodes it again as far as possible, and rejects a
  /// result of one colour, because it shows nothing of the picture.
  private static func decode(
    _ picture: UnsafeRawBufferPointer, kind: ImageKind, longEdge: CInt, edge: CInt
  ) throws(Rejection) -> Image {
    let shrink = kind == .jpeg ? jpegShrink(longEdge: longEdge, edge: edge) : nil
    if let image = unsafe decode(picture, edge, shrink, isDamaged: false) { return image }
    guard let image = unsafe decode(picture, edge, shrink, isDamaged: true) else {
      throw failure("decode")
    }
    if image.isOneColour { throw Rejection(.damaged, "nothing to be seen: \(lastError())") }
    return image
  }

  /// The factor by which libjpeg shrinks while it decodes. libvips itself leaves at least a factor of two to
  /// its own, slower resampling; 1.4 looks the same and halves the time for a photo.
  private static func jpegShrink(longEdge: CInt, edge: CInt) -> CInt {
    [8, 4, 2].first { Int(longEdge) * 10 >= Int(edge) * 14 * $0 }.map { CInt($0) } ?? 1
  }

  /// `shrink` is for JPEG; nil for all other kinds.
  private static func decode(
    _ picture: UnsafeRawBufferPointer, _ edge: CInt, _ shrink: CInt?, isDamaged: Bool
  ) -> Image? {
    let failOn = isDamaged ? VIPS_FAIL_ON_NONE : VIPS_FAIL_ON_ERROR
    let thumbnail: Image?
    if let shrink {
      // Unless it is unlimited, libvips stops a JPEG after 100 warnings and discards what it has decoded.
      let loaded = unsafe Image {
        unsafe cvips_load_jpeg(
          picture.baseAddress, picture.count, &$0, shrink, failOn, isDamaged ? 1 : 0)
      }
      guard let loaded else { return nil }
      thumbnail = unsafe Image { unsafe cvips_thumbnail_image(loaded.raw, &$0, edge) }
    } else {
      thumbnail = unsafe Image {
        unsafe cvips_thumbnail(picture.baseAddress, picture.count, &$0, edge, failOn)
      }
    }
    // libvips may have read only the header so far; the copy runs the decoder.
    guard let thumbnail, let decoded = unsafe Image(vips_image_copy_memory(thumbnail.raw)) else {
      return nil
    }
    return toSRGB(decoded)
  }

  /// Returns three or four bands of sRGB in memory. Ignores a colour profile that does not work.
  private static func toSRGB(_ image: borrowing Image) -> Image? {
    if unsafe cvips_has_profile(image.raw) != 0,
      let converted = unsafe Image({ unsafe cvips_profile_to_srgb(image.raw, &$0) }),
      let decoded = unsafe Image(vips_image_copy_memory(converted.raw))
    {
      return toBytes(decoded)
    }
    return toBytes(image)
  }

  private static func toBytes(_ image: borrowing Image) -> Image? {
    guard let colour = unsafe Image({ unsafe cvips_to_srgb(image.raw, &$0) }),
      let bytes = unsafe Image({ unsafe cvips_cast_uchar(colour.raw, &$0) }),
      let bands = unsafe Image({
        unsafe cvips_first_bands(bytes.raw, &$0, min(bytes.bands, bytes.hasAlpha ? 4 : 3))
      })
    else { return nil }
    return unsafe Image(vips_image_copy_memory(bands.raw))
  }

  /// Encodes only the pixels, because some savers of libvips do not strip all metadata.
  private static func encode(_ pixels: borrowing Image, original: ImageKind) throws(Rejection) -> (
    ImageKind, [UInt8]
  ) {
    guard let image = pixels.withoutMetadata() else {
      throw Rejection(.internal, "copy: \(lastError())")
    }
    let kind: ImageKind = original == .webp ? .webp : image.hasAlpha ? .png : .jpeg
    var bytes: UnsafeMutableRawPointer?
    var length = 0
    let result =
      switch kind {
      case .webp: unsafe cvips_save_webp(image.raw, &bytes, &length, quality)
      case .png: unsafe cvips_save_png(image.raw, &bytes, &length)
      default: unsafe cvips_save_jpeg(image.raw, &bytes, &length, quality)
      }
    guard result == 0, let bytes = unsafe bytes else {
      throw Rejection(.internal, "encode: \(lastError())")
    }
    defer { unsafe g_free(bytes) }
    let encoded = unsafe Array(UnsafeRawBufferPointer(start: bytes, count: length))
    if kind != .webp { return (kind, encoded) }
    guard let bare = WebPContainer.withoutMetadata(encoded) else {
      throw Rejection(.internal, "encode: no WebP")
    }
    return (kind, bare)
  }

  private static func failure(_ step: String) -> Rejection {
    let text = lastError()
    // The messages of GLib, libvips and the codecs after a failed malloc.
    let ofMemory = [
      "out of memory", "nsufficient memory", "memory allocation", "Memory allocation", "exceeds",
      "limit",
    ]
    let isMemory = ofMemory.contains { text.contains($0) }
    return Rejection(isMemory ? .tooLarge : .damaged, "\(step): \(text)")
  }

  private static func lastError() -> String { unsafe String(cString: vips_error_buffer()) }
}

/// Owns one reference to a VipsImage.
@safe
private struct Image: ~Copyable {
  let raw: UnsafeMutablePointer<VipsImage>

  init?(_ raw: UnsafeMutablePointer<VipsImage>?) {
    guard let raw = unsafe raw else { return nil }
    unsafe self.raw = unsafe raw
  }

  /// The image that an operation made; nil if it returns anything but 0.
  init?(_ operation: (inout UnsafeMutablePointer<VipsImage>?) -> CInt) {
    var made: UnsafeMutablePointer<VipsImage>?
    guard unsafe operation(&made) == 0, let made = unsafe made else { return nil }
    unsafe raw = unsafe made
  }

  deinit { unsafe cvips_unref(raw) }

  var width: CInt { unsafe vips_image_get_width(raw) }
  var height: CInt { unsafe vips_image_get_height(raw) }
  var bands: CInt { unsafe vips_image_get_bands(raw) }
  var hasAlpha: Bool { unsafe vips_image_hasalpha(raw) != 0 }

  /// The same pixels and nothing else. The image must be in memory with one byte a band, and outlive the
  /// copy.
  func withoutMetadata() -> Image? {
    guard let data = unsafe vips_image_get_data(raw),
      let bare = unsafe Image(
        vips_image_new_from_memory(
          data, Int(width) * Int(height) * Int(bands), width, height, bands, VIPS_FORMAT_UCHAR))
    else { return nil }
    return unsafe Image({ unsafe cvips_as_srgb(bare.raw, &$0) })
  }

  /// True if all pixels are equal. The image must be in memory with one byte a band.
  var isOneColour: Bool {
    guard let data = unsafe vips_image_get_data(raw) else { return true }
    let pixel = Int(bands)
    let count = pixel * Int(width) * Int(height)
    let bytes = unsafe UnsafeRawBufferPointer(start: data, count: count)
    for index in pixel..<max(pixel, count)
    where unsafe bytes[index] != bytes[index - pixel] { return false }
    return true
  }
}
