import AlbumModel
import ArgumentParser
import ControlProtocol
import FileKinds
import PictureMetadata
import Posix
import ThumbnailProtocol

struct ListPhotos: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show the photos of an album: names, dates of capture, dimensions, durations, sizes.",
    discussion: """
      Prints one line for each photo, its fields separated by tabs: date of capture, dimensions, bytes, \
      path, and for a video its duration in seconds. The date is by the camera's clock, or else as the name \
      says (IMG-20190505-WA0001.jpg), and "-" stands for an unknown value: dimensions and durations are \
      known when the thumbnail is made. You can correct a date, with rsync -X or with \
      setfattr -n user.albumfs.taken -v 2023-05-04T12:33:10 PHOTO.

        albumfs list-photos ~/Album/Trip
        albumfs list-photos ~/Album/Trip --by-date --json
      """)

  @Argument(help: "An album of a mounted space.", completion: .directory)
  var album: String

  @Flag(
    help:
      "In the order of capture; photos without a date by the time of their file. Otherwise by name."
  )
  var byDate = false

  @Flag(help: "Print JSON.")
  var json = false

  @OptionGroup var output: OutputOptions

  func run() throws {
    let list = try PhotoList(album: album, byDate: byDate)
    if json {
      Terminal.result(json: list)
      return
    }
    for photo in list.photos { Terminal.result(photo.line) }
    if list.photos.isEmpty { output.say("The album has no photos.") }
  }
}

/// The photos of one album, with their attributes. Its JSON form is the output of `--json`.
struct PhotoList: Encodable {
  struct Photo: Encodable {
    /// Below the album or its Photo.
    var name: String
    var path: String
    var size: Int64
    /// The time of the file, in seconds since 1970.
    var modified: Int64
    /// As `user.albumfs.taken`.
    var taken: String?
    var width: Int?
    var height: Int?
    /// Of a video, in seconds.
    var duration: Double?

    var line: String {
      let dimensions = width.flatMap { width in height.map { "\(width)x\($0)" } }
      let known = [taken ?? "-", dimensions ?? "-", "\(size)", path.printable]
      let seconds = duration.flatMap { VideoDuration(milliseconds: Int(($0 * 1000).rounded())) }
      return (known + (seconds.map { [$0.text] } ?? [])).joined(separator: "\t")
    }

    /// Comparable with the clock of a camera: the local time of the file stands for a missing date.
    fileprivate var order: String {
      if let taken { return String(taken.prefix(19)) }
      return SystemClock.localTime(seconds: modified).replacing(" ", with: "T")
    }
  }

  var version = 1
  var album: String
  var photos: [Photo] = []

  /// Throws if the path is no album that can be read.
  init(album typed: String, byDate: Bool) throws(Failure) {
    let (mount, inside) = try MountPath.find(typed)
    var names = inside.split(separator: "/").map(String.init)
    if names.count > 1, names.last == "Photo" { names.removeLast() }
    let path = PlainPath(([mount.mountPoint] + names).joined(separator: "/"))
    let isThumb = names.dropFirst().contains("Thumb")
    if names.isEmpty || isThumb || (try? PlainEntry(path))?.kind != .directory {
      throw Failure(.usage, "\(typed) is no album.")
    }
    album = path.text
    do throws(Errno) { try addAll(of: path) } catch {
      throw Failure(.usage, "\(typed) cannot be read: \(error)")
    }
    if byDate {
      photos.sort { ($0.order, $0.name) < ($1.order, $1.name) }
    } else {
      photos.sort { ($0.name, $0.path) < ($1.name, $1.path) }
    }
  }

  /// Adds the photos of an album. Folders of Photo belong to the album; other folders are albums.
  private mutating func addAll(of album: PlainPath) throws(Errno) {
    var waiting = [(folder: album, prefix: "", isAlbum: true)]
    while let (folder, prefix, isAlbum) = waiting.popLast() {
      for name in try folder.names() where !name.isHidden {
        let path = folder.appending(name)
        // A file may be removed meanwhile.
        guard let entry = try? PlainEntry(path) else { continue }
        if entry.kind == .directory {
          if isAlbum {
            if name == .photo { waiting.append((path, "", false)) }
          } else {
            waiting.append((path, "\(prefix)\(name.text)/", false))
          }
        } else if entry.kind == .file, let photo = PhotoList.photo(path, prefix + name.text, entry)
        {
          photos.append(photo)
        }
      }
    }
  }

  /// nil for a file that is no picture.
  private static func photo(_ path: PlainPath, _ name: String, _ entry: PlainEntry) -> Photo? {
    let stated = PlainFiles.attribute("user.albumfs.taken", of: path).flatMap { CaptureTime($0) }
    let dimensions = PlainFiles.attribute("user.albumfs.dimensions", of: path)
      .flatMap { PictureDimensions($0) }
    if dimensions == nil {
      let head = try? PlainFiles.head(of: path, atMost: ImageKind.sniffByteCount)
      if head.map({ ImageKind(sniffing: $0) == nil }) ?? true { return nil }
    }
    let duration = PlainFiles.attribute("user.albumfs.duration", of: path)
      .flatMap { VideoDuration($0) }
    // Without a thumbnail there are no attributes. `import --by-date` reads the content, too.
    let found = stated ?? (dimensions == nil ? content(of: path) : nil)
    let taken = found ?? path.name.flatMap { FileDate(in: $0.bytes)?.time }
    return Photo(
      name: name, path: path.text, size: entry.size, modified: entry.modified.seconds,
      taken: taken?.text, width: dimensions?.width, height: dimensions?.height,
      duration: duration.map { Double($0.milliseconds) / 1000 })
  }

  private static func content(of path: PlainPath) -> CaptureTime? {
    guard let reader = try? PlainReader(path) else { return nil }
    return CaptureDate.find(size: reader.size) { try? reader.bytes($0, at: $1) }
  }
}
