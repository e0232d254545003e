import AlbumModel
import AlbumTestSupport
import FileKinds
import Foundation
import Testing
import ThumbnailProtocol
import Thumbnails

/// Videos get a frame of theirs as thumbnail, made by the real program in its cell.
@Suite(.serialized)
struct VideoTests {
  @Test("Every kind of video gets a JPEG of a frame", arguments: TestVideos.kinds.indices)
  func kinds(_ index: Int) throws {
    let (name, options) = TestVideos.kinds[index]
    let video = try TestVideos.make(name, options)
    let kind = try #require(ImageKind(sniffing: Array(video.prefix(ImageKind.sniffByteCount))))
    #expect(ImageKind.videos.contains(kind))
    let worker = try TestVideoWorker()
    let (jpeg, facts) = try worker.poster(of: video)
    try ThumbnailInspection.inspect(jpeg, format: .jpeg, original: kind, edge: 512)
    let pixels = try TestPictures.decode(jpeg)
    #expect(max(pixels.width, pixels.height) == (name == "3gp" ? 352 : 512))
    #expect(pixels.isUpright, "\(options): \(pixels.quarters)")
    let seconds = Double(facts.duration?.milliseconds ?? 0) / 1000
    #expect(abs(seconds - 2) < 0.3, "\(options): \(seconds) s")
  }

  @Test("A video is upright however the telephone was held, and turns as its owner wants")
  func orientation() throws {
    let worker = try TestVideoWorker()
    let stored = [6: "90", 3: "180", 8: "270"]
    for (orientation, angle) in stored {
      let video = try Workshop.open { shop in
        try shop.write(TestPictures.pixels(storedFor: orientation), "in.ppm")
        let input = ["-loop", "1", "-framerate", "5", "-i", "in.ppm", "-t", "1"]
        try shop.run(
          "ffmpeg", ["-v", "error", "-y"] + input + TestVideos.kinds[0].options + ["plain.mp4"])
        // ffmpeg 5 counts against the clock for players.
        try shop.run(
          "ffmpeg",
          [
            "-v", "error", "-y", "-i", "plain.mp4", "-c", "copy", "-metadata:s:v",
            "rotate=\(360 - Int(angle)!)", "out.mp4",
          ])
        return try shop.read("out.mp4")
      }
      let (jpeg, facts) = try worker.poster(of: video)
      let pixels = try TestPictures.decode(jpeg)
      #expect((pixels.width, pixels.height) == (512, 320), "\(orientation)")
      #expect(pixels.isUpright, "\(orientation): \(pixels.quarters)")
      #expect(facts.dimensions?.text == "640x400")
      let turned = try worker.poster(of: video, rotation: .quarter)
      let sideways = try TestPictures.decode(turned.jpeg)
      #expect((sideways.width, sideways.height) == (320, 512))
      #expect(turned.facts.dimensions?.text == "400x640")
      let corner = Array(sideways[80, 100].prefix(3))
      #expect(Pixels.isClose(corner, TestPictures.blue), "clockwise, \(orientation)")
    }
  }

  @Test("Pixels that are not square are shown in their shape, and nothing is enlarged")
  func shape() throws {
    let worker = try TestVideoWorker()
    let wide = try TestVideos.mp4("-vf", "setsar=2/1")
    let pixels = try TestPictures.decode(worker.poster(of: wide).jpeg)
    #expect((pixels.width, pixels.height) == (512, 160))
    let small = try TestVideos.mp4("-vf", "scale=64:48,setsar=1")
    let kept = try TestPictures.decode(worker.poster(of: small).jpeg)
    #expect((kept.width, kept.height) == (64, 48))
  }

  @Test("A video tells its duration and when it was taken")
  func facts() throws {
    let worker = try TestVideoWorker()
    let video = try TestVideos.mp4("-metadata", "creation_time=2021-05-06T07:08:09Z")
    let facts = try worker.poster(of: video).facts
    #expect(facts.duration?.text == "2.000")
    #expect(facts.taken?.text == "2021-05-06T07:08:09+00:00")
    #expect(facts.dimensions?.text == "640x400")
    #expect(try worker.poster(of: TestVideos.mp4()).facts.taken == nil)
    let local = try TestPictures.tag(video, "mov", "-Keys:CreationDate=2021:05:06 20:08:09+13:00")
    #expect(try worker.poster(of: local).facts.taken?.text == "2021-05-06T20:08:09+13:00")
    let tagged = try TestPictures.tag(video, "mp4", "-XMP-xmp:CreateDate=2019:12:31 23:59:59")
    #expect(try worker.poster(of: tagged).facts.taken?.text == "2019-12-31T23:59:59")
    let film = try TestVideos.copy(
      TestVideos.mp4(), "mkv", "-metadata", "creation_time=2021-05-06T07:08:09Z")
    #expect(try worker.poster(of: film).facts.taken?.text == "2021-05-06T07:08:09+00:00")
  }

  @Test(
    "A video says where it was taken",
    arguments: [
      "-Keys:GPSCoordinates=48.8584, 2.2945, 35", "-UserData:GPSCoordinates=48.8584, 2.2945",
    ])
  func place(tag: String) throws {
    let worker = try TestVideoWorker()
    #expect(try worker.poster(of: TestVideos.mp4()).facts.place == nil)
    let tagged = try TestPictures.tag(TestVideos.mp4(), "mp4", tag)
    let place = try #require(try worker.poster(of: tagged).facts.place)
    #expect(abs(place.latitude - 48.8584) < 1e-4 && abs(place.longitude - 2.2945) < 1e-4)
  }

  @Test("A film that begins in black shows a later frame; one that is black throughout is black")
  func blackBegin() throws {
    let worker = try TestVideoWorker()
    func film(_ seconds: Int) throws -> [UInt8] {
      try TestVideos.mp4(
        "-t", "14", "-vf", "drawbox=color=black:t=fill:enable=\'lt(t,\(seconds))\'")
    }
    let pixels = try TestPictures.decode(worker.poster(of: film(4)).jpeg)
    #expect(pixels.isUpright, "\(pixels.quarters)")
    let black = try TestPictures.decode(worker.poster(of: film(20)).jpeg)
    #expect(
      black.quarters.allSatisfy { Pixels.isClose($0, [0, 0, 0], by: 20) }, "\(black.quarters)")
  }

  @Test("A play mark is in the lower right corner, and nowhere else")
  func mark() throws {
    let video = try TestVideos.mp4()
    let plain = try TestPictures.decode(TestVideoWorker().poster(of: video).jpeg)
    let marked = try TestPictures.decode(TestVideoWorker(marksVideos: true).poster(of: video).jpeg)
    #expect((plain.width, plain.height) == (marked.width, marked.height))
    var changed: [(x: Int, y: Int)] = []
    for y in 0..<plain.height {
      for x in 0..<plain.width where !Pixels.isClose(plain[x, y], marked[x, y]) {
        changed.append((x, y))
      }
    }
    #expect(changed.count > 1000)
    #expect(changed.allSatisfy { $0.x > 420 && $0.y > 230 })
    #expect(marked.isUpright)
    let tiny = try TestVideos.mp4("-s", "40x30")
    #expect(
      try TestVideoWorker(marksVideos: true).poster(of: tiny).jpeg
        == TestVideoWorker().poster(of: tiny).jpeg, "a mark would hide a tiny thumbnail")
  }

  @Test("What a video shows has nothing to do with the time zone or anything else that it states")
  func noMetadata() throws {
    let video = try TestVideos.mp4(
      "-metadata", "title=secret", "-metadata", "location=+48.1+011.5/", "-metadata",
      "comment=secret")
    let tags = try TestPictures.tags(of: TestVideoWorker().poster(of: video).jpeg)
    #expect(!tags.contains { $0.contains("GPS") || $0.contains("Comment") || $0.contains("Title") })
  }

  @Test("Only the ranges that a thumbnail needs are read of a long video")
  func ranges() throws {
    let worker = try TestVideoWorker()
    let long: UInt64 = 2 << 30
    // The index comes first, and 2 GiB of something else last.
    let video = try TestVideos.mp4()
    let padding: [UInt8] = [0, 0, 0, 1] + Array("free".utf8) + [0, 0, 0, 0, 0x7f, 0, 0, 0]
    let outcome = try worker.ask(video + padding, byteCount: long)
    guard case .thumbnail = outcome.content else {
      Issue.record("no thumbnail: \(outcome.content)")
      return
    }
    let bytes = outcome.ranges.reduce(0) { $0 + Int($1.length) }
    #expect(bytes < 2 << 20, "\(bytes) bytes in \(outcome.ranges.count) ranges")
    // Without an index nothing is found, and the search has an end.
    let hopeless = [0, 0, 0, 32] + Array("ftypisom".utf8) + [UInt8](repeating: 0, count: 20)
    let searched = try worker.ask(hopeless, byteCount: long)
    #expect(!searched.content.isThumbnail)
  }

  @Test(
    "A video that is cut short or damaged shows what can be decoded, and one without index fails")
  func damage() throws {
    let worker = try TestVideoWorker()
    // Noise, which fills frames with bytes.
    let noise = ["-vf", "noise=alls=60:allf=t"]
    for (name, options) in [TestVideos.kinds[0], TestVideos.kinds[4], TestVideos.kinds[6]] {
      let whole = try TestVideos.make(name, options + noise + ["-movflags", "+faststart"])
      for tenth in [3, 5, 8] {
        let cut = Array(whole.prefix(whole.count * tenth / 10))
        #expect(try worker.ask(cut).content.isThumbnail, "\(name), \(tenth) tenths")
      }
      var holed = whole
      for place in whole.count / 2..<whole.count * 7 / 10 { holed[place] = 0 }
      #expect(try worker.ask(holed).content.isThumbnail, "\(name) with a hole")
    }
    let indexLast = try TestVideos.make("mp4", TestVideos.kinds[0].options)
    let cut = Array(indexLast.prefix(indexLast.count / 2))
    #expect(throws: PictureFailure.damaged) { try worker.poster(of: cut) }
  }

  @Test("The search for a frame ends when it has decoded more pixels than any video needs")
  func invisibleFrames() throws {
    let key = ["-c:v", "libvpx", "-deadline", "realtime", "-g", "1", "-t", "6", "-s", "64x48"]
    var video = try TestVideos.make("webm", key)
    // Each of the 30 frames of VP8 is a key frame. It begins with 3 bytes, of which one bit lets it be shown,
    // and this mark; width and height follow.
    let mark: [UInt8] = [0x9d, 0x01, 0x2a]
    let places = video.indices.filter { video[$0...].starts(with: mark) }
    #expect(places.count == 30)
    for place in places {
      video[place - 3] &= ~0x10
      // 8000, little-endian.
      for offset in [3, 5] { (video[place + offset], video[place + offset + 1]) = (0x40, 0x1f) }
    }
    let worker = try TestVideoWorker()
    #expect(throws: PictureFailure.tooLarge) { try worker.poster(of: video) }
    #expect(try worker.ask(TestVideos.mp4()).content.isThumbnail, "and the worker lives on")
  }

  @Test("Sound alone, a cover, a codec that is not allowed and other files are no videos")
  func noVideo() throws {
    let worker = try TestVideoWorker()
    let sound = try Workshop.open { shop in
      try shop.run(
        "ffmpeg",
        ["-v", "error", "-f", "lavfi", "-i", "sine=duration=1", "-c:a", "aac", "out.mp4"])
      return try shop.read("out.mp4")
    }
    #expect(throws: PictureFailure.notAPicture) { try worker.poster(of: sound) }
    let rare = try TestVideos.make("mkv", ["-c:v", "ffv1"])
    #expect(throws: PictureFailure.notAPicture) { try worker.poster(of: rare) }
    #expect(throws: PictureFailure.notAPicture) {
      try worker.poster(of: Array("no video at all, and long enough to be looked at".utf8))
    }
    #expect(try worker.ask(TestVideos.mp4()).content.isThumbnail, "and the worker lives on")
  }

  @Test("A container that states more frames or edits than anybody films costs little")
  func statedTables() throws {
    let video = try TestVideos.mp4()
    // stsz: one byte for each of so many frames, all in one chunk of the stsc.
    for frameCount in [1_000_000, 5_000_000, 80_000_000, 0x7fff_ffff] {
      var stated = try TestVideos.replacing("stsz", in: video, at: 4) {
        TestVideos.big(1) + TestVideos.big(frameCount)
      }
      stated = try TestVideos.replacing("stsc", in: stated, at: 4) {
        TestVideos.big(1) + TestVideos.big(1) + TestVideos.big(frameCount) + TestVideos.big(1)
      }
      for editCount in [1, 100_000] {
        let edits = (0..<editCount).flatMap { _ in
          TestVideos.big(2000) + TestVideos.big(0) + TestVideos.big(0x10000)
        }
        let edited = try TestVideos.withEdits(edits, count: editCount, in: stated)
        let worker = try TestVideoWorker()
        // A busy machine may keep it waiting, so that its own time counts.
        _ = try worker.ask(edited)
        let used = worker.processorTime
        #expect(used < .seconds(20), "\(frameCount) frames, \(editCount) edits: \(used)")
        #expect(try worker.ask(video).content.isThumbnail, "and the worker lives on")
      }
    }
  }

  @Test(
    "Mutations of every kind end no worker, take bounded time, and show the same to a used and a fresh one"
  )
  func mutations() throws {
    var random = SeededRandom()
    print("mutated videos: seed \(random.seed)")
    let used = try TestVideoWorker()
    let rounds = ProcessInfo.processInfo.environment["ALBUMFS_LONG_TESTS"] == nil ? 6 : 300
    for (name, options) in TestVideos.kinds {
      let whole = try TestVideos.make(name, options)
      let fresh = try TestVideoWorker()
      for round in 0..<rounds {
        var mutated = whole
        // Half of them in the head, where the container describes itself.
        let places = round % 2 == 0 ? 0..<min(2048, whole.count) : 0..<whole.count
        for _ in 0..<(1 << Int.random(in: 0...5, using: &random)) {
          mutated[Int.random(in: places, using: &random)] = UInt8.random(
            in: 0...255, using: &random)
        }
        let before = used.processorTime
        do {
          let first = try used.ask(mutated).content
          let second = try fresh.ask(mutated).content
          let time = used.processorTime - before
          if first != second || time > .seconds(20) {
            let path = try kept(mutated, seed: random.seed, round: round)
            Issue.record("\(time); it is \(path), of \(name) \(options), seed \(random.seed)")
          }
        } catch {
          let path = try kept(mutated, seed: random.seed, round: round)
          Issue.record("\(error); it is \(path), of \(name) \(options), seed \(random.seed)")
          return
        }
      }
    }
    try expectSealed(#require(try used.probe()))
  }

  /// Keeps a video of a failed test, so that it can be tried again.
  private func kept(_ video: [UInt8], seed: UInt64, round: Int) throws -> String {
    let name = "albumfs-mutated-video-\(seed)-\(round)"
    let file = FileManager.default.temporaryDirectory.appendingPathComponent(name)
    try Data(video).write(to: file)
    return file.path
  }

  @Test("The cell of videos holds as that of pictures does")
  func cell() throws {
    let worker = try TestVideoWorker()
    #expect(worker.report.hasSeccomp)
    #expect(worker.report.readable == ImageKind.videos)
    try expectSealed(#require(try worker.probe()))
  }

  private func expectSealed(_ found: ProbeReport) {
    #expect(found.tries.count > 90)
    for one in found.tries {
      let refused = one.name == "clone3" ? UInt32(ENOSYS) : UInt32(EPERM)
      #expect(one.error == refused, "\(one.name): \(one.error)")
    }
  }
}

extension ThumbnailReply.Content {
  var isThumbnail: Bool { if case .thumbnail = self { true } else { false } }
}
