import Foundation
import Glibc

/// A disk of a few mebibytes, mounted in a directory of its own, for stores on a full or broken disk. Only
/// root can make one.
package final class SmallDisk {
  package enum Kind: Sendable, CaseIterable {
    /// A file system on a loop device.
    case ext4
    case tmpfs
    /// A loop device with room for half of what its file system was promised. Writes beyond that are lost,
    /// and a sync returns EIO.
    case broken
  }

  package struct Failed: Error, CustomStringConvertible {
    package var description: String
  }

  /// True if the tests can make one on this machine.
  package static var isPossible: Bool {
    if geteuid() != 0 { return false }
    return unsafe access("/dev/loop-control", R_OK | W_OK) == 0
  }

  private let scratch: ScratchDirectory
  /// The mount point.
  package var path: String { scratch.path("disk") }
  private var filler: String { path + "/filler" }
  private var backing: String { scratch.path("backing") }

  package init(_ kind: Kind = .ext4, mebibytes: Int = 48) throws {
    scratch = try ScratchDirectory()
    for folder in ["disk", "backing"] {
      try FileManager.default.createDirectory(
        atPath: scratch.path(folder), withIntermediateDirectories: false)
    }
    switch kind {
    case .ext4: try mountLoop(in: scratch.path, mebibytes)
    case .tmpfs: try run("mount -t tmpfs -o size=\(mebibytes)M albumfs-test \(path)")
    case .broken:
      try run("mount -t tmpfs -o size=\(mebibytes / 2)M albumfs-test \(backing)")
      try mountLoop(in: backing, mebibytes)
    }
  }

  private func mountLoop(in folder: String, _ mebibytes: Int) throws {
    try run(
      """
      truncate -s \(mebibytes)M \(folder)/image
      mkfs.ext4 -q -F -m 0 -E lazy_itable_init=0,lazy_journal_init=0 \(folder)/image
      mount -o loop,errors=continue \(folder)/image \(path)
      """)
  }

  /// Takes all the room that is left, to the last byte, as another program would.
  package func fill() throws {
    try run(
      """
      dd if=/dev/zero bs=64k status=none >> \(filler) || true
      dd if=/dev/zero bs=1 status=none >> \(filler) || true
      sync -f \(filler)
      """)
  }

  /// Gives that room back.
  package func free() throws { try run("rm -f \(filler); sync -f \(path)") }

  /// Free room, in bytes.
  package func available() throws -> Int {
    let lines = try run("df --output=avail -B1 \(path)").split(separator: "\n")
    return Int(lines.last?.filter(\.isNumber) ?? "") ?? 0
  }

  /// Call it after the store on it was unmounted.
  package func remove() {
    for point in [path, backing] {
      _ = try? run(
        "if mountpoint -q \(point); then umount \(point) || umount -l \(point); fi")
    }
  }

  @discardableResult
  private func run(_ script: String) throws -> String {
    let outcome = try Command("/usr/bin/env", ["bash", "-euc", script]).run()
    guard outcome.code == 0 else {
      throw Failed(description: "exit \(outcome.code) of: \(script)\n\(outcome.errors)")
    }
    return outcome.output
  }
}
