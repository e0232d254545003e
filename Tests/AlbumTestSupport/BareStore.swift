import AlbumFormat
package import AlbumStore
package import Posix

extension Store {
  /// Makes a store without slots, for tests that bring their space's keys. It has only the conf, for the
  /// locks. Writes the conf if it is missing, and ends the test if that fails.
  package convenience init(directory: any StorageDirectory, segmentSize: Int) {
    let derivation = KeyDerivation(
      number: 1, cost: .interactive, salt: [UInt8](repeating: 0, count: 16))
    let configuration = StoreConfiguration(segmentSize: segmentSize, derivations: [derivation])
    do throws(Errno) {
      _ = try directory.open("albumfs.conf", .read)
    } catch {
      do throws(Errno) { try Store.writeConf(configuration, directory) } catch {
        fatalError("cannot write albumfs.conf: \(error)")
      }
    }
    self.init(directory, configuration)
  }

  private static func writeConf(
    _ configuration: StoreConfiguration, _ directory: any StorageDirectory
  ) throws(Errno) {
    let file = try directory.open("albumfs.conf", .createNew)
    let bytes = configuration.encode()
    var failure: Errno?
    unsafe bytes.withUnsafeBytes {
      do throws(Errno) { try unsafe file.write($0, at: 0) } catch { failure = error }
    }
    if let failure { throw failure }
    try file.sync()
    try directory.syncDirectory("")
  }
}
