import AlbumModel
import FileKinds
import PictureDecoders
import PictureMetadata
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

/// A picture in memory, whose owner outlives it.
@safe
struct Picture {
  let content: UnsafeRawBufferPointer
  /// The content and zeros behind it. Some decoders stop at the end of a picture that was cut short, and go
  /// on where zeros follow.
  let padded: UnsafeRawBufferPointer
}

/// Makes thumbnails whose long edge has at most `edge` pixels: never enlarged, upright, sRGB, without
/// metadata.
struct ThumbnailMaker {
  /// An encoded thumbnail.
  struct Made {
    let format: ImageKind
    let bytes: [UInt8]
    /// Of the upright picture, turned as the thumbnail is.
    let dimensions: PictureDimensions?
    /// Of the upright picture, before it is turned.
    let hash: PictureHash?
  }

  /// The facts in the header of a picture.
  private struct Head {
    let width: CInt
    let height: CInt
    /// EXIF's, 1 to 8.
    var orientation: CInt

    var longEdge: CInt { max(width, height) }
  }

  let edge: CInt
  /// Applied when the picture is upright.
  let rotation: Rotation

  /// The limit on a picture's pixels. libvips shrinks most kinds while it reads them; for the others, the
  /// cell's memory is a lower limit. A baseline JPEG needs memory for some rows only, and may have all the
  /// pixels that its format permits.
  private static let pixelLimit: Int64 = 500_000_000

  func thumbnail(of picture: Picture, kind: ImageKind) throws(Rejection) -> Made {
    Vips.forgetErrors()
    if kind == .raw || kind == .tiff, let preview = try preview(of: picture, kind: kind) {
      return preview
    }
    if let plain = try plain(picture, kind: kind) { return plain }
    if kind == .tiff, let tiff = unsafe Tiff(picture.content), tiff.isOfDifferences,
      let made = try thumbnail(of: tiff, in: picture)
    {
      return made
    }
    let head: Head
    do throws(Rejection) {
      head = try unsafe check(picture.content, kind: kind)
    } catch {
      // A decoder may refuse even the header of a picture that was cut short.
      guard error.failure == .damaged, kind != .jpeg,
        let padded = try? unsafe check(picture.padded, kind: kind)
      else { throw error }
      head = padded
    }
    do throws(Rejection) {
      let image = try decode(picture, kind: kind, head)
      return try encode(image, original: kind, head)
    } catch {
      guard kind == .tiff, let tiff = unsafe Tiff(picture.content),
        let made = try thumbnail(of: tiff, in: picture)
      else { throw error }
      return made
    }
  }

  /// nil if libtiff does not decode it.
  private func thumbnail(
    of tiff: borrowing Tiff, in picture: Picture
  ) throws(Rejection) -> Made? {
    guard let bytes = tiff.decoded() else { return nil }
    // libvips reads the header, whatever it does with the pixels.
    let orientation = unsafe Image(loading: picture.content)?.orientation ?? 1
    guard
      let image = Image(bytes: bytes, width: CInt(tiff.width), height: CInt(tiff.height), bands: 3),
      let turned = image.oriented(orientation), let small = finish(turned)
    else { throw failure("copy") }
    let head = Head(
      width: CInt(tiff.width), height: CInt(tiff.height), orientation: orientation)
    return try encode(small, original: .tiff, head)
  }

  /// Reads the header. Checks that the loader matches the detected kind and that the number of pixels is
  /// within the limit.
  private func check(_ picture: UnsafeRawBufferPointer, kind: ImageKind) throws(Rejection) -> Head {
    guard let isRight = unsafe Vips.loads(picture, as: kind) else { throw failure("no loader") }
    if !isRight { throw Rejection(.notAPicture, "another kind than it seems") }
    guard let header = unsafe Image(loading: picture) else { throw failure("header") }
    let pixels = Int64(header.width) * Int64(header.height)
    let isStreamed = kind == .jpeg && header.isBaseline
    if pixels > ThumbnailMaker.pixelLimit, !isStreamed {
      throw Rejection(.tooLarge, "\(pixels) pixels")
    }
    // libheif turns a picture while it decodes it, and libvips' header states the result.
    return Head(width: header.width, height: header.height, orientation: header.orientation)
  }

  // MARK: Kinds with a decoder of our own

  /// nil for a kind that libvips decodes.
  private func plain(_ picture: Picture, kind: ImageKind) throws(Rejection) -> Made? {
    let content = unsafe picture.content
    let file = unsafe content.assumingMemoryBound(to: UInt8.self).span
    // Leaves a factor of two to the better resampling of libvips.
    let enough = Int(edge) * 2
    let decoded: Icon.Picture
    do throws(DecodingFault) {
      switch kind {
      case .bmp: decoded = .decoded(try Bitmap.decode(file, edge: enough))
      case .tga: decoded = .decoded(try Targa.decode(file, edge: enough))
      case .pcx: decoded = .decoded(try Paintbrush.decode(file, edge: enough))
      case .psd: decoded = .decoded(try Photoshop.decode(file, edge: enough))
      case .ico: decoded = try Icon.decode(file, edge: enough)
      default: return nil
      }
    } catch {
      throw rejection(of: error, kind)
    }
    switch decoded {
    case .decoded(let picture): return try unsafe thumbnail(of: picture, in: content)
    case .png(let part):
      let png = unsafe UnsafeRawBufferPointer(rebasing: content[part])
      return try unsafe thumbnail(of: Picture(content: png, padded: png), kind: .png)
    }
  }

  private func thumbnail(of decoded: DecodedPicture, in content: UnsafeRawBufferPointer)
    throws(Rejection) -> Made
  {
    let profile = unsafe decoded.profile.map {
      unsafe UnsafeRawBufferPointer(rebasing: content[$0])
    }
    guard let image = unsafe Image(decoded, profile: profile), let small = finish(image) else {
      throw failure("copy")
    }
    if !decoded.isComplete, small.isOneColour { throw Rejection(.damaged, "nothing to see") }
    let head = Head(
      width: CInt(decoded.fullWidth), height: CInt(decoded.fullHeight), orientation: 1)
    return try encode(small, original: .bmp, head)
  }

  /// Bytes that begin like a TGA or PCX by chance, and make no sense, are no picture.
  private func rejection(of fault: DecodingFault, _ kind: ImageKind) -> Rejection {
    switch fault {
    case .tooLarge: Rejection(.tooLarge, "pixels")
    case .unknown: Rejection(.notAPicture, "a variety without a decoder")
    case .damaged:
      Rejection(kind == .tga || kind == .pcx || kind == .ico ? .notAPicture : .damaged, "decode")
    }
  }

  // MARK: Raw pictures

  /// The thumbnail of a raw picture's preview. nil for a TIFF that no camera wrote, or whose own first
  /// picture is as large.
  private func preview(of picture: Picture, kind: ImageKind) throws(Rejection) -> Made? {
    let content = unsafe picture.content
    let file = unsafe content.assumingMemoryBound(to: UInt8.self).span
    if kind == .tiff, !RawHead.isOfCamera(file) { return nil }
    let previews = EmbeddedPreview.all(in: file)
    guard let largest = previews.first else {
      if kind == .tiff { return nil }
      throw Rejection(.damaged, "no preview")
    }
    if kind == .tiff, let header = unsafe Image(loading: content),
      Int(header.width) * Int(header.height) >= largest.pixels
    {
      return nil
    }
    let orientation = RawHead.orientation(of: file).map { CInt($0) }
    // A smaller one that is whole shows more than a part of the largest.
    for (preview, errors) in previews.map({ ($0, Image.Errors.fail) }) + [(largest, .pass)] {
      let bytes = unsafe UnsafeRawBufferPointer(rebasing: content[preview.start...])
      if let made = try unsafe thumbnail(ofPreview: bytes, errors, orientation) { return made }
    }
    if kind == .tiff { return nil }
    throw failure("preview")
  }

  /// nil if the preview cannot be decoded.
  private func thumbnail(
    ofPreview bytes: UnsafeRawBufferPointer, _ errors: Image.Errors, _ orientation: CInt?
  ) throws(Rejection) -> Made? {
    guard var head = try? unsafe check(bytes, kind: .jpeg) else { return nil }
    head.orientation = orientation ?? head.orientation
    guard let image = unsafe jpeg(bytes, head, errors, orientation: orientation) else {
      return nil
    }
    return try encode(image, original: .jpeg, head)
  }

  // MARK: Decoding

  /// Decodes and shrinks. If the picture has errors, decodes as much as possible, and rejects a result of one
  /// colour, because it shows nothing of the picture.
  private func decode(_ picture: Picture, kind: ImageKind, _ head: Head) throws(Rejection) -> Image
  {
    let content = unsafe picture.content
    if let image = unsafe decode(content, kind, head, .fail) { return image }
    if let image = unsafe decode(content, kind, head, .pass), !image.isOneColour {
      return image
    }
    if kind != .jpeg, let image = unsafe decode(picture.padded, kind, head, .pass),
      !image.isOneColour
    {
      return image
    }
    if kind == .heif || kind == .avif {
      if let image = unsafe smallPicture(content) { return image }
      // libheif refuses a file that ends before its last tile, whatever is asked for.
      if let image = unsafe smallPicture(picture.padded) { return image }
    }
    throw failure("decode")
  }

  /// The small picture in a HEIC or AVIF.
  private func smallPicture(_ picture: UnsafeRawBufferPointer) -> Image? {
    guard let small = unsafe Image(loadingThumbnailOfHEIF: picture), let image = finish(small),
      !image.isOneColour
    else { return nil }
    return image
  }

  private func decode(
    _ picture: UnsafeRawBufferPointer, _ kind: ImageKind, _ head: Head, _ errors: Image.Errors
  ) -> Image? {
    switch kind {
    case .jpeg: return unsafe jpeg(picture, head, errors, orientation: nil)
    case .png, .tiff:
      guard let header = unsafe Image(loading: picture, errors) else { return nil }
      if header.samples == .bytes || header.hasAlpha || !header.isGreyOrRGB { break }
      return measured(header, head.longEdge)
    // libvips 8.14 takes the wrong one of its resolutions for a thumbnail.
    case .jpeg2000:
      guard let image = unsafe Image(loading: picture, errors) else { return nil }
      let file = unsafe picture.assumingMemoryBound(to: UInt8.self).span
      let colours = JPEG2000Colours(of: file)
      if image.bands >= 4, colours.space == .inks {
        guard let inks = image.asInks() else { return nil }
        return finish(inks)
      }
      if image.bands >= 3, colours.space == .differences {
        guard let mixed = image.fromDifferences() else { return nil }
        return finish(mixed)
      }
      // libvips takes each further channel for opacity.
      if image.hasAlpha, !colours.hasOpacity {
        guard let plain = image.colours(image.bands < 3 ? 1 : 3) else { return nil }
        return finish(plain)
      }
      return finish(image)
    // libvips takes numbers with a point for light, which only its profile says, and their alpha for bytes.
    case .jpegXL:
      guard let header = unsafe Image(loading: picture, errors) else { return nil }
      if header.samples != .others { break }
      guard let image = header.bytesOfUnits() else { return nil }
      return finish(image)
    default: break
    }
    guard let thumbnail = unsafe Image(thumbnailOf: picture, edge: edge, errors) else { return nil }
    // libvips may have read only the header so far; the copy runs the decoder.
    guard let small = thumbnail.inMemory() else { return nil }
    if kind == .heif || kind == .avif,
      let range = HighDynamicRange(
        HEIFColours.numbers(of: unsafe picture.assumingMemoryBound(to: UInt8.self).span)),
      let shown = small.toSRGB(range)
    {
      return shown
    }
    return small.toSRGB()
  }

  private func finish(_ image: borrowing Image) -> Image? {
    image.thumbnail(edge: edge)?.inMemory()?.toSRGB()
  }

  /// `orientation` replaces the one that the JPEG states.
  private func jpeg(
    _ picture: UnsafeRawBufferPointer, _ head: Head, _ errors: Image.Errors, orientation: CInt?
  ) -> Image? {
    let shrink = jpegShrink(head)
    guard let image = unsafe Image(loadingJPEG: picture, shrunkBy: shrink, errors) else {
      return nil
    }
    guard let orientation else { return finish(image) }
    guard let turned = image.oriented(orientation) else { return nil }
    return finish(turned)
  }

  /// The factor by which libjpeg shrinks while it decodes. libvips itself leaves at least a factor of two to
  /// its own, slower resampling. 1.1 looks the same: of a 16-megapixel photo the mean difference from a
  /// reduction of all its pixels is 1.9 of 255, and a thumbnail takes three quarters of the time of 2.2.
  private func jpegShrink(_ head: Head) -> CInt {
    // libvips would leave nothing of a shorter edge, and end the process by an assertion.
    let factors = [8, 4, 2].filter { Int(min(head.width, head.height)) >= $0 }
    return factors.first { Int(head.longEdge) * 10 >= Int(edge) * 11 * $0 }.map { CInt($0) } ?? 1
  }

  /// A picture whose samples are wider than a byte may be a measurement: 12 bits in 16, or numbers of any
  /// scale. Its levels are spread, where libvips would cut them off.
  private func measured(_ picture: borrowing Image, _ longEdge: CInt) -> Image? {
    guard let small = picture.shrunk(by: max(1, longEdge / (2 * edge)))?.inMemory() else {
      return nil
    }
    let bands: CInt = small.bands < 3 ? 1 : 3
    guard let colours = small.firstBands(bands), let levels = colours.floats() else { return nil }
    guard let bytes = Levels.spread(levels, words: small.samples == .words) else {
      return finish(small)
    }
    guard
      let spread = Image(bytes: bytes, width: small.width, height: small.height, bands: bands),
      let turned = spread.oriented(small.orientation)
    else { return nil }
    return finish(turned)
  }

  // MARK: Encoding

  /// Encodes only the pixels, because some savers of libvips do not strip all metadata.
  private func encode(
    _ pixels: borrowing Image, original: ImageKind, _ head: Head
  ) throws(Rejection) -> Made {
    let isOpaque = pixels.isOpaque
    let bare = isOpaque && pixels.hasAlpha ? pixels.firstBands(3) : nil
    guard let upright = bare == nil ? pixels.withoutMetadata() : bare?.withoutMetadata() else {
      throw failure("copy")
    }
    let hash = upright.squares(PictureHash.edge).flatMap { PictureHash(squares: $0) }
    guard let image = turned(upright) else { throw failure("turn") }
    let dimensions = dimensions(head)
    let isSmall = head.longEdge < ThumbnailInspection.smallEdge
    let format: ImageKind = original == .webp ? .webp : isOpaque && !isSmall ? .jpeg : .png
    guard let encoded = image.encoded(as: format, losslessly: isSmall) else {
      throw failure("encode")
    }
    if format != .webp {
      return Made(format: format, bytes: encoded, dimensions: dimensions, hash: hash)
    }
    guard let bytes = WebPContainer.withoutMetadata(encoded) else {
      throw Rejection(.internal, "encode: no WebP")
    }
    return Made(format: format, bytes: bytes, dimensions: dimensions, hash: hash)
  }

  private func turned(_ upright: consuming Image) -> Image? {
    if rotation == .none { return upright }
    return upright.turned(quarters: CInt(rotation.rawValue))?.inMemory()
  }

  private func dimensions(_ head: Head) -> PictureDimensions? {
    let isSideways = (head.orientation >= 5) != rotation.isSideways
    return PictureDimensions(
      width: Int(isSideways ? head.height : head.width),
      height: Int(isSideways ? head.width : head.height))
  }

  private func failure(_ step: String) -> Rejection {
    let text = Vips.errors
    // The messages of GLib, libvips and the codecs after a failed malloc.
    let ofMemory = [
      "out of memory", "nsufficient memory", "memory allocation", "Memory allocation", "exceeds",
      "limit",
    ]
    let isMemory = ofMemory.contains { text.contains($0) }
    return Rejection(isMemory ? .tooLarge : .damaged, "\(step): \(text)")
  }
}

/// The levels of a picture whose samples are wider than a byte.
enum Levels {
  /// Spreads the levels to 0...255. nil if `words`, samples of 16 bits, use their range already.
  static func spread(_ samples: [Float], words: Bool) -> [UInt8]? {
    var low = Float.infinity
    var high = -Float.infinity
    for sample in samples where sample.isFinite {
      low = min(low, sample)
      high = max(high, sample)
    }
    if words {
      // Cameras and microscopes of 10 and 12 bits. A darker picture of 16 bits would be black.
      if high >= 4096 || high <= 0 { return nil }
      let top: Float = high < 256 ? 255 : high < 1024 ? 1023 : 4095
      return samples.map { UInt8(max(0, min(255, $0 / top * 255))) }
    }
    let scale = high > low ? 255 / (high - low) : 0
    return samples.map { sample in
      if sample.isNaN { return 0 }
      return UInt8(max(0, min(255, (min(high, max(low, sample)) - low) * scale)))
    }
  }
}
