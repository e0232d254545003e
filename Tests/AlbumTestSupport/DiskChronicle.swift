// The content of every file of a disk at each instant. From this, a test builds what a copying tool meets
// that reads one file now and another one later. An instant is a count of events; a power cut is one event
// more.

package struct DiskChronicle: Sendable {
  /// A file's content from one instant on.
  package struct Version: Sendable {
    package var position: Int
    package var bytes: [UInt8]
    /// Modification time in whole seconds, and its fraction: 0 if a tool set the time.
    package var modified: Int64
    package var fraction: Int
  }

  /// A name that led to a file from one instant until another.
  private struct Name {
    var file: Int
    var begin: Int
    var end = Int.max
  }

  /// By file, in rising order of time. An open file stays readable after its name is gone.
  private var files: [[Version]] = []
  private var names: [String: [Name]] = [:]
  private var directories: [String: Int] = [:]
  /// The last instant.
  package private(set) var end = 0

  package init() {}

  /// Starts with the content of a copy.
  package init(_ copy: StoreCopy) {
    for folder in copy.directories { directories[folder] = 0 }
    for (path, file) in copy.files {
      append(file.bytes, file.modified, file.fraction, to: make(path))
    }
  }

  // MARK: What happened

  /// Continues with a recording: the disk becomes the recording's start, and then all its events happen.
  /// `second` is the time of the event at an instant of the recording. Returns the instant at which the
  /// recording starts.
  @discardableResult
  package mutating func append(_ recording: DiskRecording, second: (Int) -> Int64) -> Int {
    let base = next
    end = base
    var known: [Int: Int] = [:]
    begin(recording.start, &known)
    var image = recording.start
    for (place, event) in recording.events.enumerated() {
      end = base + place + 1
      image.apply(event)
      record(event, image, &known, at: second(place + 1))
    }
    return base
  }

  /// The instant at which the next appended recording starts.
  package var next: Int { names.isEmpty ? 0 : end + 1 }

  /// The result of a power cut replaces the content. Unchanged files keep their times.
  private mutating func begin(_ image: DiskImage, _ known: inout [Int: Int]) {
    for (path, node) in image.nodes {
      guard case .file(let number) = node, let file = image.files[number] else {
        if directories[path] == nil { directories[path] = end }
        continue
      }
      if let place = self.file(path, at: end), let last = files[place].last {
        known[number] = place
        if last.bytes != file.bytes { append(file.bytes, last.modified, last.fraction, to: place) }
      } else {
        known[number] = make(path)
        append(file.bytes, file.modified, 0, to: files.count - 1)
      }
    }
    for path in names.keys where image.nodes[path] == nil { remove(path) }
  }

  private mutating func record(
    _ event: DiskEvent, _ image: DiskImage, _ known: inout [Int: Int], at second: Int64
  ) {
    switch event {
    case .makeFile(let path, let number):
      known[number] = make(path)
      append([], second, end, to: files.count - 1)
    case .makeDirectory(let path): if directories[path] == nil { directories[path] = end }
    case .write(let number, _, _):
      guard let place = known[number], let file = image.files[number] else { return }
      // A file is written right after its creation; no tool reads it between the two.
      if files[place].count == 1, files[place][0].bytes.isEmpty, files[place][0].position == end - 1
      {
        files[place][0].bytes = file.bytes
      }
      append(file.bytes, second, end, to: place)
    case .setTime(let number, let seconds):
      guard let place = known[number], let last = files[place].indices.last else { return }
      let bytes = files[place][last].bytes
      // A time is set microseconds after a write; no tool reads the file between the two.
      if files[place][last].position == end - 1 {
        files[place][last].modified = seconds
        files[place][last].fraction = 0
      }
      append(bytes, seconds, 0, to: place)
    case .rename(let from, let to):
      guard let place = file(from, at: end) else { return }
      remove(from)
      remove(to)
      names[to, default: []].append(Name(file: place, begin: end))
    case .remove(let path): remove(path)
    case .sync, .failedSync, .syncDirectory: break
    }
  }

  private mutating func make(_ path: String) -> Int {
    files.append([])
    names[path, default: []].append(Name(file: files.count - 1, begin: end))
    return files.count - 1
  }

  private mutating func append(
    _ bytes: [UInt8], _ modified: Int64, _ fraction: Int, to file: Int
  ) {
    files[file].append(
      Version(position: end, bytes: bytes, modified: modified, fraction: fraction))
  }

  private mutating func remove(_ path: String) {
    guard var found = names[path], found.last?.end == .max else { return }
    found[found.count - 1].end = end
    names[path] = found
  }

  // MARK: What a tool meets

  /// The file that a name leads to.
  package func file(_ path: String, at position: Int) -> Int? {
    names[path]?.last { $0.begin <= position && position < $0.end }?.file
  }

  /// The content of an open file at that instant.
  package func version(of file: Int, at position: Int) -> Version? {
    files[file].last { $0.position <= position }
  }

  /// The folders at that instant, in the order of their creation, because their names are random.
  package func folders(at position: Int) -> [String] {
    directories.filter { $0.value <= position }
      .sorted { ($0.value, $0.key) < ($1.value, $1.key) }.map(\.key)
  }

  /// True if a file ever had this name.
  package func knows(_ path: String) -> Bool { names[path] != nil }

  /// The first instant at which each name led to a file.
  package var firstInstants: [String: Int] { names.compactMapValues { $0.first?.begin } }

  /// The files in a folder, by path.
  package func paths(in folder: String, at position: Int) -> [String] {
    names.keys.filter { DiskImage.parent($0) == folder && file($0, at: position) != nil }.sorted()
  }
}
