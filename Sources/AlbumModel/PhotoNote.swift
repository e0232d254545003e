/// A note of a person about a photo, in an extended attribute of the file. albumfs gives each attribute a
/// meaning, and refuses values without one.
package enum PhotoNote: String, CaseIterable, Sendable {
  /// A text of any length.
  case caption
  /// `1`
  case favourite
  /// Stars from `1` to `5`, or `-1` for a photo that was rejected.
  case rating
  /// One name a line.
  case tags
  case people
  /// Degrees of latitude and longitude, and if known the altitude in metres: `48.137154,11.576124,519`.
  case place

  package var attribute: String { "user.albumfs.\(rawValue)" }

  /// The note that an attribute holds; nil for any other name.
  package init?(attribute: [UInt8]) {
    guard let note = PhotoNote.allCases.first(where: { attribute.elementsEqual($0.attribute.utf8) })
    else { return nil }
    self = note
  }

  /// A value of this note, as people are told it.
  package var example: String {
    switch self {
    case .caption: "a caption is text in UTF-8"
    case .favourite: "a favourite is 1"
    case .rating: "a rating is 1 to 5, or -1"
    case .tags, .people: "names are lines in UTF-8"
    case .place: "a place is 48.137154,11.576124"
    }
  }

  package func accepts(_ value: [UInt8]) -> Bool {
    guard !value.isEmpty, let text = String(validating: value, as: UTF8.self),
      !value.contains(0)
    else { return false }
    switch self {
    case .caption: return true
    case .favourite: return text == "1"
    case .rating: return ["-1", "1", "2", "3", "4", "5"].contains(text)
    case .tags, .people:
      return text.split(separator: "\n", omittingEmptySubsequences: false)
        .allSatisfy { !$0.isEmpty }
    case .place: return GeographicPlace(text) != nil
    }
  }
}

/// Where a photo was taken.
package struct GeographicPlace: Equatable, Sendable {
  /// In degrees.
  package let latitude: Double
  package let longitude: Double
  /// In metres.
  package let altitude: Double?

  /// nil for what is nowhere on the Earth.
  package init?(latitude: Double, longitude: Double, altitude: Double? = nil) {
    guard -90...90 ~= latitude, -180...180 ~= longitude,
      altitude.map({ -12_000...100_000 ~= $0 }) ?? true
    else { return nil }
    (self.latitude, self.longitude, self.altitude) = (latitude, longitude, altitude)
  }

  /// Reads the text of a place; nil for anything else.
  package init?(_ text: String) {
    let parts = text.split(separator: ",", omittingEmptySubsequences: false)
    let isPlain = text.utf8.allSatisfy { 48...57 ~= $0 || "+-.,".utf8.contains($0) }
    let numbers = parts.compactMap { Double($0) }
    guard isPlain, 2...3 ~= parts.count, numbers.count == parts.count else { return nil }
    self.init(
      latitude: numbers[0], longitude: numbers[1], altitude: numbers.count > 2 ? numbers[2] : nil)
  }

  /// From -90 and -180 degrees on, in millionths of a degree.
  package var millionths: (latitude: Int, longitude: Int) {
    (
      Int(((latitude + 90) * 1_000_000).rounded()), Int(((longitude + 180) * 1_000_000).rounded())
    )
  }

  /// nil beyond the Earth.
  package init?(latitudeMillionths: Int, longitudeMillionths: Int) {
    self.init(
      latitude: (Double(latitudeMillionths) - 90_000_000) / 1_000_000,
      longitude: (Double(longitudeMillionths) - 180_000_000) / 1_000_000)
  }

  /// Six digits behind the point are a tenth of a metre.
  package var text: String {
    let place = "\(GeographicPlace.decimal(latitude)),\(GeographicPlace.decimal(longitude))"
    return altitude.map { "\(place),\(Int($0.rounded()))" } ?? place
  }

  private static func decimal(_ number: Double) -> String {
    let millionths = Int((abs(number) * 1_000_000).rounded())
    let rest = "\(millionths % 1_000_000)"
    let sign = number < 0 && millionths > 0 ? "-" : ""
    return
      "\(sign)\(millionths / 1_000_000).\(String(repeating: "0", count: 6 - rest.count))\(rest)"
  }
}
