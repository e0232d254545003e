import AlbumTestSupport
import Foundation
import Testing
import ThumbnailProtocol
import Thumbnails

/// HEIC and AVIF: which way up, and what shows if something is missing.
@Suite(.serialized)
struct HEIFTests {
  @Test("In HEIC the container says which way up, and EXIF is not applied on top")
  func heicOrientation() throws {
    let worker = try TestWorker()
    let picture = try Workshop.open { shop in
      try shop.write(Data(TestPictures.jpeg(orientation: 6)), "in.jpg")
      try shop.run("vips", "heifsave", "in.jpg", "out.heic")
      return try shop.read("out.heic")
    }
    let (_, bytes) = try worker.thumbnail(of: picture)
    // Stored turned, without a rotation in the container: shown as stored, 400 by 640.
    let pixels = try TestPictures.decode(bytes)
    #expect((pixels.width, pixels.height) == (320, 512))
  }

  @Test(
    "A HEIC or AVIF shows its picture whatever its main brand is",
    arguments: [
      ("heic", "hevx"), ("heic", "MiHE"), ("heic", "mif2"), ("heic", "ABCD"), ("avif", "ABCD"),
    ])
  func brands(_ format: String, _ brand: String) throws {
    let worker = try TestWorker()
    var picture = try TestPictures.encode(TestPictures.pixels(), as: format)
    picture.replaceSubrange(8..<12, with: brand.utf8)
    let pixels = try TestPictures.decode(try worker.thumbnail(of: picture).1)
    #expect((pixels.width, pixels.height) == (512, 320))
    #expect(pixels.isUpright, "\(pixels.quarters)")
  }

  @Test("A HEIC or AVIF that was cut short shows its first part", arguments: ["heic", "avif"])
  func cutShort(_ format: String) throws {
    let worker = try TestWorker()
    let whole = try TestPictures.encode(noise(), as: format)
    let (_, bytes) = try worker.thumbnail(of: Array(whole.prefix(whole.count * 7 / 10)))
    let pixels = try TestPictures.decode(bytes)
    #expect((pixels.width, pixels.height) == (320, 200))
    #expect(Pixels.isClose(pixels.quarters[0], TestPictures.red, by: 60), "\(pixels.quarters)")
  }

  @Test(
    "Of a HEIC or AVIF whose main picture is lost the small one beside it shows",
    arguments: ["small:heic", "small:avif"])
  func lostMainPicture(_ kind: String) throws {
    let worker = try TestWorker()
    let picture = try TestPictures.make(noise(), as: kind)
    let whole = try TestPictures.decode(try worker.thumbnail(of: picture).1)
    #expect((whole.width, whole.height) == (320, 200))
    let pixels = try TestPictures.decode(
      try worker.thumbnail(of: TestPictures.hollow(picture)).1)
    #expect((pixels.width, pixels.height) == (160, 100))
    #expect(pixels.isUpright, "\(pixels.quarters)")
  }

  @Test("Of a telephone's HEIC with a damaged or missing tile the small picture shows")
  func lostTile() throws {
    let worker = try TestWorker()
    let grid = try GridSample.make()
    let whole = try TestPictures.decode(try worker.thumbnail(of: grid.bytes).1)
    #expect((whole.width, whole.height) == (512, 320))
    #expect(whole.isUpright, "\(whole.quarters)")
    var lost: [(name: String, bytes: [UInt8])] = []
    for (number, tile) in grid.tiles.enumerated() {
      for value: UInt8 in [0, 0xFF] {
        var damaged = grid.bytes
        for place in tile { damaged[place] = value }
        lost.append(("tile \(number) is all \(value)", damaged))
      }
    }
    let last = grid.tiles[3]
    lost.append(("the last tile is missing", Array(grid.bytes.prefix(last.lowerBound))))
    for (name, bytes) in lost {
      let pixels = try TestPictures.decode(try worker.thumbnail(of: bytes).1)
      #expect((pixels.width, pixels.height) == (160, 100), "\(name)")
      #expect(pixels.isUpright, "\(name): \(pixels.quarters)")
    }
    // Of a tile that was cut short there may be something to see.
    let cut = try TestPictures.decode(
      try worker.thumbnail(of: Array(grid.bytes.prefix(last.lowerBound + 20))).1)
    let found = zip(cut.quarters, whole.quarters).prefix(3)
    #expect(found.allSatisfy { Pixels.isClose($0, $1, by: 60) }, "\(cut.quarters)")
  }

  @Test(
    "Of a telephone's HEIC whose grid lacks a tile the small picture shows",
    arguments: [GridSample.Defect.unknown(1), .unknown(3), .unreferenced(2)])
  func lackingTile(_ defect: GridSample.Defect) throws {
    let worker = try TestWorker()
    let picture = try GridSample.make(with: defect)
    let pixels = try TestPictures.decode(try worker.thumbnail(of: picture.bytes).1)
    #expect((pixels.width, pixels.height) == (160, 100), "\(defect)")
    #expect(pixels.isUpright, "\(defect): \(pixels.quarters)")
  }

  @Test(
    "A tile that is smaller than the first shows what it has, and all other tiles show",
    arguments: [GridSample.Defect.small(3), .smallerThanStated(1)])
  func smallTile(_ defect: GridSample.Defect) throws {
    let worker = try TestWorker()
    let picture = try GridSample.make(with: defect)
    let pixels = try TestPictures.decode(try worker.thumbnail(of: picture.bytes).1)
    #expect((pixels.width, pixels.height) == (512, 320), "\(defect)")
    let wanted = [TestPictures.red, TestPictures.green, TestPictures.blue, TestPictures.white]
    let quarters = zip(pixels.quarters, wanted).filter { Pixels.isClose($0, $1) }
    #expect(quarters.count == 3, "\(defect): \(pixels.quarters)")
    // Its corner near the upper left.
    for (number, (x, y)) in [(10, 10), (266, 10), (10, 170), (266, 170)].enumerated() {
      let found = Array(pixels[x, y].prefix(3))
      #expect(Pixels.isClose(found, wanted[number]), "\(defect), tile \(number): \(found)")
    }
  }

  @Test(
    "A HEIC that does not say where one of its tiles lies is damaged, as libheif refuses it whole",
    arguments: [GridSample.Defect.placeless(0), .placeless(3)])
  func tileWithoutPlace(_ defect: GridSample.Defect) throws {
    let worker = try TestWorker()
    let picture = try GridSample.make(with: defect)
    #expect(throws: PictureFailure.damaged) { try worker.thumbnail(of: picture.bytes) }
    #expect(try worker.ask(GridSample.make().bytes).isThumbnail, "and the worker lives on")
  }
}
