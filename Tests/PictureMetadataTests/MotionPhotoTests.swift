import AlbumTestSupport
import PictureMetadata
import Testing

/// A motion photo has its film inside it, behind the picture.
@Suite struct MotionPhotoTests {
  private let film = ExifSamples.film(stated: "2024-07-04T01:34:56+1300")

  private func found(_ bytes: [UInt8]) -> [UInt8]? {
    MotionPhoto.film(size: Int64(bytes.count)) { count, offset in
      offset < bytes.count ? Array(bytes[Int(max(0, offset))...].prefix(count)) : []
    }.map { Array(bytes[Int($0.lowerBound)..<Int($0.upperBound)]) }
  }

  private func little(_ number: Int, _ count: Int = 4) -> [UInt8] {
    (0..<count).map { UInt8(number >> (8 * $0) & 0xFF) }
  }

  private func ofSamsung(_ film: [UInt8]) -> [UInt8] {
    let name = Array("MotionPhoto_Data".utf8)
    let data = little(0x0A30 << 16) + little(name.count) + name + film
    let entry = little(0, 2) + little(0x0A30, 2) + little(data.count) + little(data.count)
    let directory = Array("SEFH".utf8) + little(106) + little(1) + entry
    return ExifSamples.jpeg() + data + directory + little(directory.count) + Array("SEFT".utf8)
  }

  @Test func theFilmIsFoundWhereTheCameraPutsIt() {
    for property in [
      "GCamera:MicroVideo=\"1\" GCamera:MicroVideoOffset=\"\(film.count)\"",
      "GCamera:MotionPhoto=\"1\"><Container:Directory><rdf:li><Container:Item Item:Semantic=\"Primary\" "
        + "Item:Length=\"0\"/></rdf:li><rdf:li><Container:Item Item:Semantic=\"MotionPhoto\" "
        + "Item:Length=\"\(film.count)\"/></rdf:li></Container:Directory><x:y z=\"\"",
    ] {
      #expect(found(ExifSamples.jpeg(xmp: ExifSamples.xmp(property)) + film) == film)
    }
    #expect(found(ofSamsung(film)) == film)
  }

  @Test func whatOnlySaysSoHasNone() {
    let property = "GCamera:MicroVideoOffset=\"\(film.count)\""
    let packet = ExifSamples.xmp(property)
    #expect(found(ExifSamples.jpeg(xmp: packet)) == nil)
    #expect(found(ExifSamples.jpeg(xmp: packet) + [UInt8](repeating: 1, count: film.count)) == nil)
    #expect(found(ExifSamples.jpeg()) == nil && found([]) == nil && found(film) == nil)
    for number in ["-1", "0", "99999999999999999999", "x"] {
      let packet = ExifSamples.xmp("Item:Length=\"\(number)\"")
      #expect(found(ExifSamples.jpeg(xmp: packet) + film) == nil)
    }
  }

  @Test func damagedPicturesEndTheSearch() {
    let photo = ofSamsung(film)
    var random = SystemRandomNumberGenerator()
    for cut in stride(from: 0, to: photo.count, by: 7) { _ = found(Array(photo[..<cut])) }
    for _ in 0..<1000 {
      var damaged = photo
      for _ in 0..<3 {
        let place = Int.random(in: photo.count - film.count - 90..<photo.count, using: &random)
        damaged[place] = [0, 0xFF, UInt8.random(in: 0...255, using: &random)].randomElement()!
      }
      if let film = found(damaged) { #expect(film.count < photo.count) }
    }
  }

  @Test func googlesCameraNamesThem() {
    for name in ["PXL_20230501_120000123.MP.jpg", "MVIMG_20180501_120000.jpg", "IMG_1_MP.heic"] {
      #expect(MotionPhoto.isNamed(Array(name.utf8)), "\(name)")
    }
    for name in ["IMG_1.jpg", "film.mp4", "STAMP.jpg", "MP.mov"] {
      #expect(!MotionPhoto.isNamed(Array(name.utf8)), "\(name)")
    }
  }
}
