import AlbumModel
import AlbumTestSupport
import PictureMetadata

/// The date of capture in every container, camera and place, and what ties a film to its photo.
enum CaptureDateTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] {
    [
      ExifSamples.tiff(), ExifSamples.tiff(isBigEndian: true), ExifSamples.jpeg(),
      ExifSamples.heic(), ExifSamples.png(), ExifSamples.webp(), ExifSamples.jpegXL(),
      ExifSamples.jpeg2000(), ExifSamples.cr3(), ExifSamples.fujifilm(),
      ExifSamples.jpeg(xmp: ExifSamples.xmp()), ExifSamples.photoshop(),
      ExifSamples.gif(xmp: ExifSamples.xmp()),
      ExifSamples.film(created: 1_720_010_096, stated: "2024-07-04T01:34:56+1300"),
      ExifSamples.film(brand: nil, created: 1_720_010_096, isLong: true),
      ExifSamples.livePhoto(identifier: "8E3A1B0C-55D2-4C1F-9A77-0123456789AB"),
      ExifSamples.liveFilm(identifier: "8E3A1B0C-55D2-4C1F-9A77-0123456789AB", created: 3),
      ExifSamples.film(userPlace: "+48.8584+002.2945+035.300/"),
      ExifSamples.film(
        stated: "-33.8568+151.2153/", name: "com.apple.quicktime.location.ISO6709"),
      ExifSamples.jpeg(xmp: ExifSamples.xmp("GCamera:MicroVideoOffset=\"40\""))
        + ExifSamples.film(),
    ]
  }

  static func run(_ bytes: [UInt8]) {
    var reads = 0
    let date = CaptureDate.find(size: Int64(bytes.count)) { count, offset in
      reads += 1
      require(count >= 0 && count <= 4 << 20 && offset >= 0, "it reads pieces of bounded size")
      if offset >= bytes.count { return [] }
      return Array(bytes[Int(offset)...].prefix(count))
    }
    require(reads < 1000, "it reads a bounded number of pieces")
    let facts = CameraFacts.find(size: Int64(bytes.count)) { count, offset in
      require(count >= 0 && count <= 4 << 20 && offset >= 0, "it reads pieces of bounded size")
      return offset >= bytes.count ? [] : Array(bytes[Int(offset)...].prefix(count))
    }
    for text in [facts.camera, facts.lens].compactMap(\.self) {
      require(text.utf8.count < 1000 && !text.utf8.contains { $0 < 0x20 }, "texts are short lines")
    }
    let identifier = LivePhoto.identifier(size: Int64(bytes.count)) { count, offset in
      require(count >= 0 && count <= 4 << 20 && offset >= 0, "it reads pieces of bounded size")
      return offset >= bytes.count ? [] : Array(bytes[Int(offset)...].prefix(count))
    }
    require(identifier.map { 8...64 ~= $0.utf8.count } ?? true, "an identifier is short")
    let film = MotionPhoto.film(size: Int64(bytes.count)) { count, offset in
      require(count >= 0 && count <= 4 << 20 && offset >= 0, "it reads pieces of bounded size")
      return offset >= bytes.count ? [] : Array(bytes[Int(offset)...].prefix(count))
    }
    require(
      film.map { $0.lowerBound > 0 && $0.upperBound <= bytes.count } ?? true,
      "the film of a motion photo is inside it")
    if let date {
      require(date.day.utf8.count == 10, "a day has ten characters")
      require(CaptureTime(Array(date.text.utf8)) == date, "a date has one spelling")
    }
  }
}
