import Foundation

/// Videos for tests: the quarters of `TestPictures`, still, encoded by ffmpeg, which scripts/test installs.
package enum TestVideos {
  /// Containers and codecs, by the extension of a file and ffmpeg's options.
  package static let kinds: [(extension: String, options: [String])] = [
    ("mp4", ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p"]),
    (
      "mov",
      [
        "-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none:pools=1",
        "-tag:v",
        "hvc1",
      ]
    ),
    ("m4v", ["-c:v", "mpeg4"]),
    ("3gp", ["-c:v", "h263", "-s", "352x288"]),
    ("avi", ["-c:v", "mpeg4"]),
    ("avi", ["-c:v", "mjpeg", "-pix_fmt", "yuvj420p"]),
    ("mkv", ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p"]),
    ("webm", ["-c:v", "libvpx", "-deadline", "realtime"]),
    ("webm", ["-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8"]),
  ]

  /// A video of two seconds, 640 by 400 unless an option says otherwise.
  package static func make(_ name: String, _ options: [String]) throws -> [UInt8] {
    try SharedFiles.file("video \(name) \(options)") {
      try Workshop.open { shop in
        try shop.write(TestPictures.pixels(), "in.ppm")
        let input = ["-loop", "1", "-framerate", "5", "-i", "in.ppm", "-t", "2", "-g", "5"]
        try shop.run("ffmpeg", ["-v", "error", "-y"] + input + options + ["out." + name])
        return try shop.read("out." + name)
      }
    }
  }

  /// An MP4 whose index comes first unless `options` say otherwise.
  package static func mp4(_ options: String...) throws -> [UInt8] {
    try make("mp4", kinds[0].options + ["-movflags", "+faststart"] + options)
  }

  /// The same video in another container, or with other words in it.
  package static func copy(_ video: [UInt8], _ name: String, _ options: String...) throws -> [UInt8]
  {
    try Workshop.open { shop in
      try shop.write(Data(video), "in.video")
      try shop.run(
        "ffmpeg", ["-v", "error", "-y", "-i", "in.video", "-c", "copy"] + options + ["out." + name])
      return try shop.read("out." + name)
    }
  }

  // MARK: Boxes of an MP4

  package struct NoBox: Error { let name: String }

  /// Replaces numbers behind the version of the first box of this name.
  package static func replacing(
    _ name: String, in video: [UInt8], at offset: Int, by bytes: () -> [UInt8]
  ) throws -> [UInt8] {
    let start = try content(of: name, in: video) + offset
    let new = bytes()
    var result = video
    result.replaceSubrange(start..<start + new.count, with: new)
    return result
  }

  /// Replaces the list of edits of an MP4 with one track, whose index comes before its frames.
  package static func withEdits(_ edits: [UInt8], count: Int, in video: [UInt8]) throws -> [UInt8] {
    let start = try content(of: "elst", in: video)
    let length = number(at: start - 8, in: video) - 8
    var result = video
    result.replaceSubrange(start..<start + length, with: big(0) + big(count) + edits)
    let grown = 8 + edits.count - length
    func add(at place: Int) {
      result.replaceSubrange(place..<place + 4, with: big(number(at: place, in: result) + grown))
    }
    // The boxes around it are longer, and the frames lie behind it.
    for name in ["moov", "trak", "edts", "elst"] { add(at: try content(of: name, in: result) - 8) }
    let places = try content(of: "stco", in: result)
    for index in 0..<number(at: places + 4, in: result) { add(at: places + 8 + index * 4) }
    return result
  }

  package static func big(_ number: Int) -> [UInt8] {
    (0..<4).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
  }

  private static func number(at place: Int, in video: [UInt8]) -> Int {
    video[place..<place + 4].reduce(0) { $0 << 8 | Int($1) }
  }

  /// Where the content of the first box of this name begins.
  private static func content(of name: String, in video: [UInt8]) throws -> Int {
    let name = Array(name.utf8)
    guard let place = video.indices.first(where: { video[$0...].starts(with: name) }) else {
      throw NoBox(name: String(decoding: name, as: UTF8.self))
    }
    return place + name.count
  }
}
