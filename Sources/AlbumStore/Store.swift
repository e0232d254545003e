package import AlbumSecrets
package import Posix

/// A draft, replaced by its author.
package final class Store: Sendable {
  package struct Configuration: Sendable { package var segmentSize: Int }
  package let directory: any StorageDirectory
  package let configuration: Configuration
  package init(directory: any StorageDirectory, segmentSize: Int) {
    self.directory = directory
    configuration = Configuration(segmentSize: segmentSize)
  }
}
package final class SpaceLock: Sendable {
  package static func take(store: Store, keys: SpaceKeys, readOnly: Bool) throws(StoreError)
    -> SpaceLock
  { SpaceLock() }
}
