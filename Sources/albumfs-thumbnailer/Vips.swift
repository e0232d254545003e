import CLinux
import CVips
import FileKinds
import Glibc
import PictureDecoders
import PictureMetadata
import ThumbnailProtocol

/// Wraps libvips; no other file calls it. For one thread.
enum Vips {
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
    for kind in ImageKind.pictures {
      if let loader = loaderClass(of: kind) { unsafe vips_operation_block_set(loader, 0) }
    }
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

  /// The kinds that this libvips can read with the installed codecs, and those that need none of it.
  static func readableKinds() -> Set<ImageKind> {
    var kinds = Set(
      ImageKind.pictures.filter { kind in
        loaderName(of: kind).map { unsafe cvips_has_operation($0) != 0 } ?? true
      })
    let hevc: CInt = 1
    let av1: CInt = 4
    if cvips_heif_can_decode(hevc) == 0 { kinds.remove(.heif) }
    if cvips_heif_can_decode(av1) == 0 { kinds.remove(.avif) }
    return kinds
  }

  /// For a raw picture, of its preview. nil if libvips does not decode the kind.
  private static func loaderClass(of kind: ImageKind) -> String? {
    switch kind {
    case .jpeg, .raw: "VipsForeignLoadJpeg"
    case .png: "VipsForeignLoadPng"
    case .webp: "VipsForeignLoadWebp"
    case .gif: "VipsForeignLoadNsgif"
    case .tiff: "VipsForeignLoadTiff"
    case .heif, .avif: "VipsForeignLoadHeif"
    case .jpegXL: "VipsForeignLoadJxl"
    case .jpeg2000: "VipsForeignLoadJp2k"
    default: nil
    }
  }

  private static func loaderName(of kind: ImageKind) -> String? {
    switch kind {
    case .jpeg, .raw: "jpegload_buffer"
    case .png: "pngload_buffer"
    case .webp: "webpload_buffer"
    case .gif: "gifload_buffer"
    case .tiff: "tiffload_buffer"
    case .heif, .avif: "heifload_buffer"
    case .jpegXL: "jxlload_buffer"
    case .jpeg2000: "jp2kload_buffer"
    default: nil
    }
  }

  /// True if libvips has a loader for this kind, and would choose it.
  static func loads(_ picture: UnsafeRawBufferPointer, as kind: ImageKind) -> Bool? {
    guard let found = unsafe vips_foreign_find_load_buffer(picture.baseAddress, picture.count)
    else { return nil }
    return loaderClass(of: kind).map { unsafe String(cString: found).hasPrefix($0) }
  }

  /// The messages of all operations since `forgetErrors`.
  static var errors: String { unsafe String(cString: vips_error_buffer()) }
  static func forgetErrors() { vips_error_clear() }
}

/// Owns one reference to a VipsImage. Most operations only describe what is to be done; `inMemory` does it.
@safe
struct Image: ~Copyable {
  private let raw: UnsafeMutablePointer<VipsImage>

  private init?(_ raw: UnsafeMutablePointer<VipsImage>?) {
    guard let raw = unsafe raw else { return nil }
    unsafe self.raw = unsafe raw
  }

  /// The image that an operation made; nil if it returns anything but 0.
  private init?(_ operation: (inout UnsafeMutablePointer<VipsImage>?) -> CInt) {
    var made: UnsafeMutablePointer<VipsImage>?
    guard unsafe operation(&made) == 0, let made = unsafe made else { return nil }
    unsafe raw = unsafe made
  }

  deinit { unsafe cvips_unref(raw) }

  // MARK: Loading. The bytes must outlive the image.

  /// How a decoder takes errors of a picture.
  enum Errors {
    case fail
    /// It shows what it can.
    case pass

    fileprivate var level: VipsFailOn { self == .fail ? VIPS_FAIL_ON_ERROR : VIPS_FAIL_ON_NONE }
  }

  init?(loading picture: UnsafeRawBufferPointer, _ errors: Errors = .pass) {
    unsafe self.init(cvips_open(picture.baseAddress, picture.count, errors.level))
  }

  /// libjpeg shrinks by 1, 2, 4 or 8 while it decodes.
  init?(loadingJPEG picture: UnsafeRawBufferPointer, shrunkBy shrink: CInt, _ errors: Errors) {
    // Unless it is unlimited, libvips stops a JPEG after 100 warnings and discards what it has decoded.
    let unlimited: CInt = errors == .pass ? 1 : 0
    unsafe self.init {
      unsafe cvips_load_jpeg(
        picture.baseAddress, picture.count, &$0, shrink, errors.level, unlimited)
    }
  }

  /// The small picture that a HEIF or AVIF has beside the large one; the large one if it has none.
  init?(loadingThumbnailOfHEIF picture: UnsafeRawBufferPointer) {
    unsafe self.init {
      unsafe cvips_load_heif_thumbnail(picture.baseAddress, picture.count, &$0)
    }
  }

  /// Loads and shrinks in one step, where the loader can.
  init?(thumbnailOf picture: UnsafeRawBufferPointer, edge: CInt, _ errors: Errors) {
    unsafe self.init {
      unsafe cvips_thumbnail(picture.baseAddress, picture.count, &$0, edge, errors.level)
    }
  }

  /// `bytes` has a byte for each band of each pixel, row by row: grey if there is one band, else sRGB.
  init?(bytes: [UInt8], width: CInt, height: CInt, bands: CInt) {
    guard bytes.count == Int(width) * Int(height) * Int(bands) else { return nil }
    let copy = unsafe bytes.withUnsafeBytes {
      unsafe vips_image_new_from_memory_copy(
        $0.baseAddress, $0.count, width, height, bands, VIPS_FORMAT_UCHAR)
    }
    guard let image = unsafe Image(copy) else { return nil }
    unsafe self.init { unsafe cvips_reinterpret(image.raw, &$0, bands < 3 ? 1 : 0) }
  }

  /// A picture of a decoder of our own. `profile` is an ICC profile.
  init?(_ picture: DecodedPicture, profile: UnsafeRawBufferPointer?) {
    let copy = unsafe picture.bytes.withUnsafeBytes {
      unsafe vips_image_new_from_memory_copy(
        $0.baseAddress, $0.count, CInt(picture.width), CInt(picture.height),
        CInt(picture.bands.count), VIPS_FORMAT_UCHAR)
    }
    guard let image = unsafe Image(copy) else { return nil }
    unsafe self.init {
      picture.bands == .inks
        ? unsafe cvips_reinterpret_cmyk(image.raw, &$0)
        : unsafe cvips_reinterpret(image.raw, &$0, picture.bands == .grey ? 1 : 0)
    }
    if let profile = unsafe profile {
      unsafe cvips_set_profile(raw, profile.baseAddress, profile.count)
    }
  }

  // MARK: Properties

  var width: CInt { unsafe vips_image_get_width(raw) }
  var height: CInt { unsafe vips_image_get_height(raw) }
  var bands: CInt { unsafe vips_image_get_bands(raw) }
  var hasAlpha: Bool { unsafe vips_image_hasalpha(raw) != 0 }
  /// EXIF's: 1 to 8.
  var orientation: CInt { unsafe vips_image_get_orientation(raw) }
  /// False for a JPEG whose scans each cover the whole picture, which must be kept in memory.
  var isBaseline: Bool { unsafe cvips_is_interlaced(raw) == 0 }

  /// The type of a sample.
  enum Samples {
    case bytes
    /// Unsigned, of 16 bits.
    case words
    /// Signed, wider, or with a point.
    case others
  }

  var samples: Samples {
    switch unsafe vips_image_get_format(raw) {
    case VIPS_FORMAT_UCHAR: .bytes
    case VIPS_FORMAT_USHORT: .words
    default: .others
    }
  }

  /// True for grey and for red, green and blue; false for spaces with a scale of their own, such as Lab.
  var isGreyOrRGB: Bool { unsafe cvips_is_grey_or_rgb(raw) != 0 }

  /// Its ICC profile; nil without one.
  private var profile: [UInt8]? {
    var data: UnsafeRawPointer?
    var length = 0
    guard unsafe cvips_profile(raw, &data, &length) == 0, let data = unsafe data else { return nil }
    return unsafe [UInt8](UnsafeRawBufferPointer(start: data, count: length))
  }

  /// The four letters of the colours that its profile is for, such as `CMYK`; nil without one.
  private var profileColours: String? {
    profile.flatMap { $0.count < 20 ? nil : String(decoding: $0[16..<20], as: UTF8.self) }
  }

  /// True if the profile is for the colours that the samples are now. libvips may have converted them.
  var fitsProfile: Bool {
    let colours = bands - (hasAlpha ? 1 : 0)
    return switch profileColours {
    case "RGB ": colours == 3
    case "GRAY": colours == 1
    case "CMYK": unsafe colours == 4 && cvips_is_cmyk(raw) != 0
    default: false
    }
  }

  /// True for what most photos are once they are decoded.
  private var isBareSRGB: Bool {
    unsafe samples == .bytes && cvips_is_srgb(raw) != 0 && profileColours == nil
      && bands == (hasAlpha ? 4 : 3)
  }

  // MARK: Operations

  /// Runs all operations before.
  func inMemory() -> Image? { unsafe Image(vips_image_copy_memory(raw)) }

  /// Upright, and at most `edge` pixels long; never enlarged.
  func thumbnail(edge: CInt) -> Image? {
    unsafe Image { unsafe cvips_thumbnail_image(raw, &$0, edge) }
  }

  /// Averages squares of so many pixels.
  func shrunk(by factor: CInt) -> Image? { unsafe Image { unsafe cvips_shrink(raw, &$0, factor) } }

  func oriented(_ orientation: CInt) -> Image? {
    unsafe Image { unsafe cvips_orient(raw, &$0, orientation) }
  }

  /// Turns the pixels clockwise.
  func turned(quarters: CInt) -> Image? {
    unsafe Image { unsafe cvips_turn(raw, &$0, quarters) }
  }

  /// Three or four bands of sRGB, a byte each, in memory. Ignores a colour profile that does not work. The
  /// image must be in memory.
  consuming func toSRGB() -> Image? {
    if isBareSRGB { return self }
    if fitsProfile,
      let converted = unsafe Image({ unsafe cvips_profile_to_srgb(raw, &$0, intent) }),
      let decoded = converted.inMemory()
    {
      return decoded.toBytes()
    }
    return toBytes()
  }

  /// As measured, with white as white. libvips ignores a profile that has no table for the intent.
  private var intent: VipsIntent {
    ColourProfile.hasOnlyPerceptualTable(profile ?? [])
      ? VIPS_INTENT_PERCEPTUAL : VIPS_INTENT_RELATIVE
  }

  /// What a screen shows of levels of more light; nil if a profile says what they mean.
  func toSRGB(_ range: HighDynamicRange) -> Image? {
    guard bands >= 3, profileColours == nil, let levels = colours(3)?.floats() else { return nil }
    let scale: Float = samples == .bytes ? 257 : 1
    let bytes = range.toSRGB(levels.map { UInt16(max(0, min(65535, $0 * scale))) })
    return Image(bytes: bytes, width: width, height: height, bands: 3)
  }

  private func toBytes() -> Image? {
    guard let colour = unsafe Image({ unsafe cvips_to_srgb(raw, &$0) }),
      let bytes = unsafe Image({ unsafe cvips_cast_uchar(colour.raw, &$0) })
    else { return nil }
    return bytes.firstBands(min(bytes.bands, bytes.hasAlpha ? 4 : 3))
  }

  /// Samples from 0 to 1, of alpha too, as bytes.
  func bytesOfUnits() -> Image? { unsafe Image { unsafe cvips_unit_to_uchar(raw, &$0) } }

  /// The same samples, of 8 bits, as cyan, magenta, yellow and black.
  func asInks() -> Image? { unsafe Image { unsafe cvips_bytes_to_cmyk(raw, &$0) } }

  /// Red, green and blue of brightness and two differences of colours (sYCC).
  func fromDifferences() -> Image? { unsafe Image { unsafe cvips_ycc_to_srgb(raw, &$0) } }

  /// Only the first bands, not yet in memory.
  func colours(_ count: CInt) -> Image? {
    unsafe Image { unsafe cvips_first_bands(raw, &$0, count) }
  }

  func firstBands(_ count: CInt) -> Image? { colours(count)?.inMemory() }

  /// The same pixels and nothing else. The image must be in memory with one byte a band, and outlive the
  /// copy.
  func withoutMetadata() -> Image? {
    guard let data = unsafe vips_image_get_data(raw),
      let bare = unsafe Image(
        vips_image_new_from_memory(
          data, Int(width) * Int(height) * Int(bands), width, height, bands, VIPS_FORMAT_UCHAR))
    else { return nil }
    return unsafe Image { unsafe cvips_reinterpret(bare.raw, &$0, 0) }
  }

  // MARK: Pixels

  /// All samples, row by row.
  func floats() -> [Float]? {
    guard let image = unsafe Image({ unsafe cvips_cast_float(raw, &$0) }),
      let memory = image.inMemory(), let data = unsafe vips_image_get_data(memory.raw)
    else { return nil }
    let count = Int(memory.width) * Int(memory.height) * Int(memory.bands)
    return unsafe Array(
      UnsafeBufferPointer(start: data.assumingMemoryBound(to: Float.self), count: count))
  }

  /// True if all pixels are equal. The image must be in memory with one byte a band.
  var isOneColour: Bool {
    let bytes = unsafe pixels
    let pixel = Int(bands)
    for index in pixel..<max(pixel, bytes.count)
    where unsafe bytes[index] != bytes[index - pixel] { return false }
    return true
  }

  /// True if no pixel shows anything behind it. The image must be in memory with one byte a band.
  var isOpaque: Bool {
    if !hasAlpha { return true }
    let bytes = unsafe pixels
    let last = Int(bands) - 1
    return stride(from: last, to: bytes.count, by: last + 1).allSatisfy {
      unsafe bytes[$0] == 255
    }
  }

  /// The brightness of squares, row by row, into which the picture is divided: as many in each row and each
  /// column. The image must have one byte a band.
  func squares(_ edge: Int) -> [UInt8]? {
    guard let image = unsafe Image({ unsafe cvips_squares(raw, &$0, CInt(edge)) }),
      let memory = image.inMemory()
    else { return nil }
    return unsafe Array(memory.pixels)
  }

  private var pixels: UnsafeRawBufferPointer {
    guard let data = unsafe vips_image_get_data(raw) else {
      return unsafe .init(start: nil, count: 0)
    }
    let count = Int(bands) * Int(width) * Int(height)
    return unsafe UnsafeRawBufferPointer(start: data, count: count)
  }

  // MARK: Saving

  private static let quality: CInt = 80

  /// nil if libvips fails. `format` is one of thumbnails.
  func encoded(as format: ImageKind, losslessly: Bool = false) -> [UInt8]? {
    var bytes: UnsafeMutableRawPointer?
    var length = 0
    let result =
      switch format {
      case .webp:
        unsafe cvips_save_webp(raw, &bytes, &length, Image.quality, losslessly ? 1 : 0)
      case .png: unsafe cvips_save_png(raw, &bytes, &length)
      default: unsafe cvips_save_jpeg(raw, &bytes, &length, Image.quality)
      }
    guard result == 0, let bytes = unsafe bytes else { return nil }
    defer { unsafe g_free(bytes) }
    return unsafe Array(UnsafeRawBufferPointer(start: bytes, count: length))
  }
}
