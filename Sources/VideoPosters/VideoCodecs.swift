import FileKinds
internal import ThumbnailProtocol

/// The parts of FFmpeg that may run, by FFmpeg's names.
enum VideoCodecs {
  /// The demuxer of each kind.
  static let demuxers: [ImageKind: String] = [.mp4: "mov", .avi: "avi", .matroska: "matroska"]

  /// The decoder of each codec. No other runs, whatever a video asks for.
  static let decoders = [
    "h264": "h264", "hevc": "hevc", "av1": "libdav1d", "vp8": "vp8", "vp9": "vp9",
    "mpeg4": "mpeg4", "h263": "h263", "msmpeg4v3": "msmpeg4", "mjpeg": "mjpeg",
    "mpeg1video": "mpeg1video", "mpeg2video": "mpeg2video", "prores": "prores",
    "dvvideo": "dvvideo",
  ]
}
