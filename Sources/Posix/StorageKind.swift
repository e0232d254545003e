/// What kind of file system holds a store, and what albumfs may rely on there.
package struct StorageKind: Sendable, Equatable {
  package enum Sharing: Sendable {
    /// One kernel has it, so its locks are kept by all and for as long as their holder lives.
    case local
    /// Other machines may have it, too. Its locks, where it has some, may be lost.
    case network
    /// As `network`; besides, two machines can create the same file, because each writes to its own cache.
    case cached
    /// Whole objects that nobody writes in place: a store there is read as it was when it was listed.
    case snapshot
  }

  /// As the kernel calls it: `ext4`, `nfs4`, `fuse.sshfs`.
  package var name: String
  package var sharing: Sharing

  package var isLocal: Bool { sharing == .local }
  /// True if of two sessions only one can create a file.
  package var createsExclusively: Bool { sharing == .local || sharing == .network }
  package var isSnapshot: Bool { sharing == .snapshot }

  /// Of disks of tests.
  package static let test = StorageKind(name: "test", sharing: .local)

  package init(name: String, sharing: Sharing) {
    self.name = name
    self.sharing = sharing
  }

  /// By a name of /proc/self/mountinfo. A kind that is not in the table counts as one of the network.
  package init(named name: String) {
    let sharing: Sharing =
      if StorageKind.local.contains(name) {
        .local
      } else if StorageKind.cached.contains(name) { .cached } else { .network }
    self.init(name: name, sharing: sharing)
  }

  private static let local: Set = [
    "ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "ramfs", "f2fs", "zfs", "bcachefs", "jfs",
    "reiserfs", "nilfs2", "overlay", "vfat", "msdos", "exfat", "ntfs3", "ntfs", "fuseblk",
    "hfsplus",
    "ecryptfs", "squashfs", "iso9660", "udf", "erofs", "fuse.gocryptfs", "fuse.mergerfs",
    "fuse.bindfs", "fuse.encfs", "fuse.cryfs", "fuse.securefs", "fuse.ntfs-3g", "fuse.exfat",
    "fuse.fuse-overlayfs", "rootfs",
  ]

  /// They upload a file some time after it was closed, and believe their own list of files until then.
  private static let cached: Set = [
    "fuse.rclone", "fuse.s3fs", "fuse.goofys", "fuse.geesefs", "fuse.gcsfuse", "fuse.mount-s3",
    "fuse.mountpoint-s3", "fuse.davfs", "davfs", "fuse.google-drive-ocamlfuse", "fuse.onedriver",
    "fuse.blobfuse", "fuse.blobfuse2", "fuse.cryptomator", "fuse.pcloud", "fuse.dropbox",
  ]
}
