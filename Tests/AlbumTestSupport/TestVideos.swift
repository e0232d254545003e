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
}
