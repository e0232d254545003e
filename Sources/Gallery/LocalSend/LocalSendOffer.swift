import AlbumModel
import FoundationEssentials
import Posix

/// The body of LocalSend's `prepare-upload`: the files that a sender wants to send, by its ids for them.
struct LocalSendOffer: Decodable {
  private struct File: Decodable {
    var fileName: String
    var size: Int64
    var sha256: String?
    var metadata: Metadata?
  }

  private struct Metadata: Decodable {
    var modified: String?
  }

  /// What is known of a file before it comes.
  struct Expected: Sendable {
    /// Albums below the one that receives.
    var folders: [FileName]
    var name: FileName
    var size: Int64
    var sha256: [UInt8]?
    var modified: Timestamp?
  }

  private let files: [String: File]

  private enum CodingKeys: CodingKey { case files }

  private static let fileLimit = 10_000
  private static let depthLimit = 32

  /// The files by the sender's ids. nil for one that an album cannot have: its name is none for the gallery,
  /// or it is too large.
  ///
  /// Throws `invalid` for too many files, and for a size or a hash that is none.
  func expected() throws(GalleryError) -> [String: Expected?] {
    if files.count > LocalSendOffer.fileLimit { throw GalleryError(.invalid) }
    var expected: [String: Expected?] = [:]
    for (id, file) in files {
      expected.updateValue(try LocalSendOffer.expected(file), forKey: id)
    }
    return expected
  }

  private static func expected(_ file: File) throws(GalleryError) -> Expected? {
    if file.size < 0 { throw GalleryError(.invalid) }
    let hash = try file.sha256.map { text throws(GalleryError) in try SHA256Text.bytes(text) }
    // A folder's files have names with the folders in them.
    let parts = file.fileName.split(separator: "/", omittingEmptySubsequences: false)
    let names = parts.compactMap { try? GalleryName.valid(String($0)) }
    guard names.count == parts.count, parts.count <= depthLimit,
      file.size <= Upload.maximumSize
    else { return nil }
    return Expected(
      folders: names.dropLast(), name: names[names.count - 1], size: file.size, sha256: hash,
      modified: file.metadata?.modified.flatMap(time))
  }

  /// Reads a time of ISO 8601. One without a zone counts as UTC.
  private static func time(_ text: String) -> Timestamp? {
    let fractions = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    for text in [text, text + "Z"] {
      for style in [Date.ISO8601FormatStyle(), fractions] {
        guard let seconds = try? style.parse(text).timeIntervalSince1970, abs(seconds) < 9e9 else {
          continue
        }
        return Timestamp(nanoseconds: Int64((seconds * 1e6).rounded()) * 1000)
      }
    }
    return nil
  }
}
