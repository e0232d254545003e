import AlbumTestSupport
import PictureMetadata
import Testing

/// Apple writes one identifier into the photo and the film of a Live Photo.
@Suite struct LivePhotoTests {
  private func identifier(_ bytes: [UInt8]) -> String? {
    LivePhoto.identifier(size: Int64(bytes.count)) { count, offset in
      offset < bytes.count ? Array(bytes[Int(offset)...].prefix(count)) : []
    }
  }

  private let own = "8E3A1B0C-55D2-4C1F-9A77-0123456789AB"

  @Test func bothPartsHaveIt() {
    #expect(identifier(ExifSamples.livePhoto(identifier: own)) == own)
    #expect(identifier(ExifSamples.liveFilm(identifier: own, created: 3_661_000_000)) == own)
    #expect(identifier(ExifSamples.film(stated: "2024-07-04T01:34:56+1300")) == nil)
    #expect(identifier(ExifSamples.jpeg()) == nil)
  }

  @Test func damagedPicturesHaveNone() {
    let picture = ExifSamples.livePhoto(identifier: own)
    var random = SystemRandomNumberGenerator()
    for cut in stride(from: 0, to: picture.count, by: 3) { _ = identifier(Array(picture[..<cut])) }
    for _ in 0..<2000 {
      var damaged = picture
      for _ in 0..<3 {
        let place = Int.random(in: 20..<damaged.count, using: &random)
        damaged[place] = [0, 0xFF, UInt8.random(in: 0...255, using: &random)].randomElement()!
      }
      if let found = identifier(damaged) { #expect(found.utf8.count <= 64) }
    }
  }
}
