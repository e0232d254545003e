package import AlbumModel
package import FileKinds
import PictureMetadata
package import ThumbnailProtocol

/// The bytes of a video. For one thread.
package protocol VideoBytes: AnyObject {
  var byteCount: Int64 { get }
  /// Reads up to the buffer's size from an offset before the end; returns 0 if no more may be read.
  func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int
  /// Bytes from an offset on; fewer where the video ends, or where no more may be read.
  func bytes(_ count: Int, at offset: Int64) -> [UInt8]
}

/// A JPEG of one frame of a video: never enlarged, upright, sRGB, without metadata.
package struct VideoPoster: Equatable, Sendable {
  package var jpeg: [UInt8]
  package var facts: PictureFacts

  /// Loads what would be loaded later, because the cell cannot open files. Returns the kinds that can be
  /// decoded.
  package static func prepare() -> Set<ImageKind> { LibAV.prepare() }

  /// Shows a key frame at a tenth of the video, or a later one if that is dark; if none can be decoded, the
  /// first frame that can.
  ///
  /// `rotation` applies to the upright frame.
  package static func make(
    of video: some VideoBytes, kind: ImageKind, edge: Int, rotation: Rotation = .none,
    isMarked: Bool
  ) throws(VideoFault) -> VideoPoster {
    let effort = Effort()
    var fault = VideoFault(.damaged, "no frame")
    for place in Place.allCases {
      do throws(VideoFault) {
        let film = try Film(video, kind: kind, allowance: place.allowance, effort: effort)
        var poster = try film.poster(of: place.frame(of: film), edge, rotation, isMarked: isMarked)
        // As `albumfs import` and `list-photos` find it, which have no FFmpeg.
        poster.facts.taken = CaptureDate.find(size: video.byteCount) { video.bytes($0, at: $1) }
        poster.facts.place =
          CameraFacts.find(size: video.byteCount) { video.bytes($0, at: $1) }.place
        return poster
      } catch {
        if error.failure != .damaged { throw error }
        fault = error
        if !effort.isLeft { throw VideoFault(.tooLarge, "too much work without a frame") }
      }
    }
    throw fault
  }

  /// Where to look for a frame.
  private enum Place: CaseIterable {
    case tenth
    case start

    /// Bytes to read. A video without an index may need all of them to find its tenth, and then some are left
    /// for its start.
    var allowance: UInt64 {
      switch self {
      case .tenth: ThumbnailLimits.rangesByteCount / 4 * 3
      case .start: ThumbnailLimits.rangesByteCount / 4
      }
    }

    func frame(of film: Film) throws(VideoFault) -> Frame {
      switch self {
      case .tenth: return try brightFrame(of: film)
      case .start: return try film.anyFrame()
      }
    }

    /// The parts of a video at which it looks for a frame, in hundredths.
    private static let parts: [Int64] = [10, 25, 50, 75]

    /// Films begin in black. Looks at later parts while there is work left, and takes the brightest frame if
    /// all are dark.
    private func brightFrame(of film: Film) throws(VideoFault) -> Frame {
      film.seek(toHundredths: Place.parts[0])
      var best = try film.keyFrame()
      var brightness = best.brightness
      for part in Place.parts.dropFirst() where brightness < Place.darkness {
        film.seek(toHundredths: part)
        guard let next = try? film.keyFrame() else { break }
        if next.brightness > brightness { (best, brightness) = (next, next.brightness) }
      }
      return best
    }

    /// The mean of 255 below which a frame is dark.
    private static let darkness = 16.0
  }
}

/// Why a video gets no thumbnail.
package struct VideoFault: Error {
  package var failure: PictureFailure
  package var reason: String

  init(_ failure: PictureFailure, _ reason: String) {
    self.failure = failure
    self.reason = reason
  }
}

extension Film {
  fileprivate func poster(of frame: Frame, _ edge: Int, _ rotation: Rotation, isMarked: Bool)
    throws(VideoFault) -> VideoPoster
  {
    let (width, height) = PosterSize.of(
      width: frame.width, height: frame.height, pixelAspect: pixelAspect(of: frame), edge: edge)
    guard let pixels = frame.pixels(width: width, height: height) else {
      throw VideoFault(.damaged, "the frame has no pixels that can be shown")
    }
    if frame.isIncomplete, pixels.isOneColour { throw VideoFault(.damaged, "nothing to see") }
    var upright = Turn(rotation).applied(to: turn.applied(to: pixels))
    if isMarked { PlayMark.draw(on: &upright) }
    guard let jpeg = JPEGEncoder.encode(upright) else { throw VideoFault(.internal, "encode") }
    let isSideways = turn.exchangesAxes != rotation.isSideways
    let facts = PictureFacts(
      dimensions: PictureDimensions(
        width: isSideways ? frame.height : frame.width,
        height: isSideways ? frame.width : frame.height),
      duration: duration.flatMap { VideoDuration(milliseconds: Int($0)) })
    return VideoPoster(jpeg: jpeg, facts: facts)
  }
}

/// The size of a thumbnail before it is turned.
enum PosterSize {
  /// - Parameters:
  ///   - pixelAspect: width by height of a pixel. Nothing is enlarged: wide pixels make the rows fewer.
  static func of(width: Int, height: Int, pixelAspect: Double, edge: Int)
    -> (width: Int, height: Int)
  {
    let aspect = (0.125...8).contains(pixelAspect) ? pixelAspect : 1
    let across = Double(width) * min(1, aspect)
    let down = Double(height) / max(1, aspect)
    let scale = min(1, Double(edge) / max(across, down))
    return (
      max(1, min(edge, Int((across * scale).rounded()))),
      max(1, min(edge, Int((down * scale).rounded())))
    )
  }
}
