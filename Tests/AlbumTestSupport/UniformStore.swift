import Foundation

/// The bytes of a whole store, of which only the two confs may be anything but random.
package struct UniformStore {
  /// What is wrong, each with the name of its file.
  package private(set) var faults: [String] = []
  package private(set) var fileCount = 0

  /// Looks at every file of the store, and at all of them together.
  package init(_ store: String) throws {
    var all = UniformBytes()
    for name in try FileManager.default.subpathsOfDirectory(atPath: store).sorted() {
      // Folders have none, and a segment may go meanwhile.
      guard !name.hasPrefix("albumfs.conf"),
        let content = try? Data(contentsOf: URL(fileURLWithPath: store + "/" + name))
      else { continue }
      let bytes = [UInt8](content)
      fileCount += 1
      if let fault = UniformBytes(bytes).fault { faults.append("\(name): \(fault)") }
      all.add(bytes)
    }
    if let fault = all.fault { faults.append("all files together: \(fault)") }
  }
}
