import AlbumModel
import Foundation
import PictureMetadata
import Posix

/// What a sidecar says of the photo that it belongs to.
struct SidecarFacts: Equatable {
  var date: FileDate?
  var notes: [PhotoNote: String] = [:]
  /// The name that the photo had in the program that wrote the sidecar.
  var title: String?

  /// What one sidecar leaves open, another one may say.
  func completed(by other: SidecarFacts) -> SidecarFacts {
    var all = self
    all.date = date ?? other.date
    all.notes.merge(other.notes) { own, _ in own }
    all.title = title ?? other.title
    return all
  }
}

/// The JSON files of Google Takeout. Trusts nothing in them: what is of another kind than expected does not
/// count, and every value is one that the space accepts.
enum GoogleJSON {
  /// More bytes than Google writes about a photo.
  static let limit = 1 << 20

  private static func object(_ bytes: [UInt8]) -> [String: Any]? {
    if bytes.count > limit { return nil }
    return try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]
  }

  /// What a file says of a photo; nil if it is about something else.
  static func facts(_ bytes: [UInt8]) -> SidecarFacts? {
    guard let object = object(bytes), let taken = object["photoTakenTime"] as? [String: Any] else {
      return nil
    }
    var facts = SidecarFacts()
    facts.title = object["title"] as? String
    facts.date = seconds(taken["timestamp"]).flatMap { FileDate(worldSeconds: $0) }
    facts.set(.caption, object["description"] as? String)
    facts.set(.favourite, object["favorited"] as? Bool ?? false ? "1" : nil)
    facts.set(.people, people(object["people"]))
    facts.set(.place, (place(object["geoData"]) ?? place(object["geoDataExif"]))?.text)
    return facts
  }

  /// The title of the album whose folder holds this file; nil if it is about something else.
  static func albumTitle(_ bytes: [UInt8]) -> String? {
    guard let object = object(bytes), object["photoTakenTime"] == nil else { return nil }
    // Takeouts of before 2021 have it in an object of its own.
    let data = object["albumData"] as? [String: Any] ?? object
    guard data["date"] is [String: Any] || data["access"] is String else { return nil }
    return data["title"] as? String
  }

  static func isKnown(_ bytes: [UInt8]) -> Bool { facts(bytes) != nil || albumTitle(bytes) != nil }

  /// Google writes numbers as texts.
  private static func seconds(_ value: Any?) -> Int? {
    if let text = value as? String { return Int(text) }
    return (value as? NSNumber).flatMap { Int(exactly: $0.doubleValue.rounded()) }
  }

  private static func people(_ value: Any?) -> String? {
    let names = (value as? [Any])?.compactMap { ($0 as? [String: Any])?["name"] as? String }
    return names?.map { $0.split { $0.isNewline }.joined(separator: " ") }
      .filter { !$0.isEmpty }.joined(separator: "\n")
  }

  /// Google writes zeros where it knows no place.
  private static func place(_ value: Any?) -> GeographicPlace? {
    guard let data = value as? [String: Any], let latitude = data["latitude"] as? Double,
      let longitude = data["longitude"] as? Double, latitude != 0 || longitude != 0
    else { return nil }
    let altitude = (data["altitude"] as? Double).flatMap { $0 == 0 ? nil : $0 }
    return GeographicPlace(latitude: latitude, longitude: longitude, altitude: altitude)
      ?? GeographicPlace(latitude: latitude, longitude: longitude)
  }
}

extension SidecarFacts {
  /// The bytes of a packet of XMP that are looked at.
  static let packetLimit = 1 << 20

  init(_ xmp: XMPNotes) {
    date = xmp.date.map { FileDate(stated: $0, isFilm: false) }
    set(.rating, xmp.rating.map { "\($0)" })
    set(.caption, xmp.caption)
    let tags = xmp.tags.map { $0.split { $0.isNewline }.joined(separator: " ") }
    set(.tags, tags.filter { !$0.isEmpty }.joined(separator: "\n"))
  }

  /// Sets a note that the space would accept. A longer text is cut.
  mutating func set(_ note: PhotoNote, _ text: String?) {
    guard var text = text?.replacing("\0", with: "") else { return }
    if note == .caption { text = text.trimmingCharacters(in: .whitespacesAndNewlines) }
    while text.utf8.count > SidecarFacts.textLimit { text.removeLast(max(1, text.count / 16)) }
    if note.accepts(Array(text.utf8)) { notes[note] = text }
  }

  /// In bytes. An attribute holds 64 KiB.
  private static let textLimit = 60 << 10
}
