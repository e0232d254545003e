package import ControlProtocol
import FUSEDriver

/// Everything that a daemon receives when it starts, except the secret.
package struct LaunchOptions: Codable, Sendable, Equatable {
  /// The kind of secret that unlocks the space.
  package enum SecretKind: String, Codable, Sendable {
    case password, recoveryKey
  }

  /// How the kernel's requests come to the daemon.
  package enum Transport: String, Codable, Sendable, CaseIterable {
    case auto, device, uring
  }

  /// Which owners the mount shows.
  package enum Owner: String, Codable, Sendable, CaseIterable {
    case map, keep
  }

  /// What fsync means on a store in an object storage.
  package enum Durability: String, Codable, Sendable, CaseIterable {
    /// The disk of this machine.
    case local
    /// The object storage.
    case remote
  }

  /// Absolute paths, because the daemon works in `/`.
  package var store: String
  package var mountPoint: String
  package var readOnly: Bool
  package var allowOther: Bool
  /// nil: the user who mounts owns everything, except where root mounts or others are let in.
  package var owner: Owner?
  /// The values of `-o`, joined by commas.
  package var mountOptions: String
  package var transport: Transport
  package var secretKind: SecretKind
  /// Path of albumfs-thumbnailer; nil: albumfs makes no thumbnails.
  package var thumbnailer: String?
  /// Path of albumfs-video-thumbnailer; nil: albumfs makes no thumbnails of videos.
  package var videoThumbnailer: String?
  /// Thumbnails of videos get a mark.
  package var marksVideos = true
  /// True if implicit entries look at the caller's system call. False only in tests of the fallback.
  package var inspectsSystemCalls: Bool
  /// How long a segment stays after it is no longer needed, in seconds.
  package var graceSeconds: Int64
  /// The directory that records how far the history of spaces went; nil: nowhere.
  package var remembersIn: String?
  package var verbose: Bool
  /// Unmounts when nobody has used the space for so many seconds; nil: never.
  package var idleSeconds: Int64?
  /// True if the mount point may hold files, which the mount covers: for `albumfs adopt`.
  package var coversFiles = false
  /// The name of the snapshot that the mount shows, or a time (`2026-11-26T10.00.00Z`), for the first one
  /// from then on; nil: the present.
  package var snapshot: String?
  /// nil: nobody watches the mount.
  package var trace: TraceOptions?
  /// nil: `local`.
  package var durability: Durability?
  /// The directory for what an object storage does not have yet; nil: the usual one.
  package var staging: String?
  /// How much may be in it, in bytes; nil: as much as usual.
  package var stagingBytes: Int64?

  package init(
    store: String, mountPoint: String, readOnly: Bool, allowOther: Bool, owner: Owner? = nil,
    mountOptions: String,
    transport: Transport, secretKind: SecretKind, thumbnailer: String?, inspectsSystemCalls: Bool,
    graceSeconds: Int64,
    remembersIn: String? = nil, verbose: Bool
  ) {
    self.store = store
    self.mountPoint = mountPoint
    self.readOnly = readOnly
    self.allowOther = allowOther
    self.owner = owner
    self.mountOptions = mountOptions
    self.transport = transport
    self.secretKind = secretKind
    self.thumbnailer = thumbnailer
    self.inspectsSystemCalls = inspectsSystemCalls
    self.graceSeconds = graceSeconds
    self.remembersIn = remembersIn
    self.verbose = verbose
  }
}

extension LaunchOptions {
  /// Checks the mount options, what they need of the system, and the mount point, before the command asks
  /// for a password.
  package func check() throws(Failure) {
    if let file = trace?.file {
      try TraceFile.check(file, store: store, mountPoint: mountPoint)
    }
    do throws(MountError) {
      try parsedMountOptions().checkSystem()
      _ = try MountPoint(mountPoint, mayHoldFiles: coversFiles)
      if transport == .uring { try requireRings() }
    } catch {
      throw Failure(error, store: store)
    }
  }

  private func requireRings() throws(MountError) {
    do throws(RingFault) { try KernelRings.check() } catch { throw .noRing(error) }
  }

  /// Combines all mount options; those of the command override `-o`.
  func parsedMountOptions() throws(MountError) -> MountOptions {
    var parsed = MountOptions()
    try parsed.add(mountOptions)
    if readOnly || snapshot != nil { parsed.readOnly = true }
    if allowOther { parsed.allowOther = true }
    parsed.owner =
      switch owner {
      case .map: .map
      case .keep: .keep
      case nil: nil
      }
    parsed.coversFiles = coversFiles
    parsed.transport =
      switch transport {
      case .auto: .automatic
      case .device: .device
      case .uring: .ring
      }
    return parsed
  }
}

extension LaunchOptions {
  /// True if the mount changes nothing, by its options or by `-o`.
  package var changesNothing: Bool {
    get throws(Failure) {
      do throws(MountError) { return try parsedMountOptions().readOnly } catch {
        throw Failure(error)
      }
    }
  }
}

extension LaunchOptions {
  /// Long options of `albumfs mount` with a value that may also stand in `-o`, in fstab and in the user's
  /// settings.
  package static let valuedWords = [
    "password-file", "password-command", "thumbnailer", "video-thumbnailer", "grace", "idle",
    "owner", "transport", "durability", "staging", "staging-size",
  ]
  /// The options without a value.
  package static let flagWords = [
    "read-only", "allow-other", "remember", "fido2", "with-password", "no-video-mark",
  ]
}
