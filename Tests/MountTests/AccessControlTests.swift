import AlbumTestSupport
import Foundation
import Testing

/// POSIX ACLs, files without names, and the other calls that Linux has beyond POSIX.
@Suite(.serialized) struct AccessControlTests {
  private static let withACLs = ["--allow-other", "-o", "acl"]

  /// A user who may not reach a photo sees no thumbnail of it.
  @Test(.enabled(if: geteuid() == 0, "is about several users"))
  func aFolderOfThumbIsAsPrivateAsTheFolderOfThePhotos() throws {
    try MountedStore.use(mountOptions: Self.withACLs) { mounted in
      try mounted.makePictures()
      try mounted.sh(
        OwnerTests.users + """
          sees() { as 4711 cat "$M/A/$1" > /dev/null 2>&1; }
          chmod 755 $M; mkdir $M/A $M/A/Photo/sub; chmod 755 $M/A $M/A/Photo/sub
          cp $W/pictures/picture.png $M/A/Photo/a.png; cp $W/pictures/picture.png $M/A/Photo/sub/b.png
          albumfs sync $M; sees Thumb/a.png; sees Thumb/sub/b.png
          chmod 700 $M/A/Photo/sub
          await ! sees Thumb/sub/b.png
          sees Thumb/a.png; if sees Thumb/sub/b.png || sees Photo/sub/b.png; then exit 1; fi
          setfacl -m u:4711:rx $M/A/Photo/sub
          await sees Thumb/sub/b.png; sees Photo/sub/b.png
          setfacl -m u:4711:--- $M/A/Photo
          await ! sees Thumb/a.png
          if sees Thumb/a.png || sees Thumb/sub/b.png; then exit 1; fi
          setfacl -b $M/A/Photo
          await sees Thumb/a.png; as 4712 test -e $M/A/Thumb/a.png
          # A new folder is as private from the beginning, and one that moves stays so.
          (umask 077; mkdir $M/A/Photo/new); test "$(stat -c %a $M/A/Thumb/new)" = 700
          mv $M/A/Photo/new $M/A/Photo/moved; test "$(stat -c %a $M/A/Thumb/moved)" = 700
          """)
    }
  }

  @Test(.enabled(if: geteuid() == 0, "is about several users"))
  func theKernelEnforcesACLsAndNewFilesInheritThem() throws {
    try MountedStore.use(mountOptions: Self.withACLs) { mounted in
      try mounted.sh(
        OwnerTests.users + """
          chmod 755 $M; mkdir -m 700 $M/.d; echo secret > $M/.d/file; chmod 600 $M/.d/file
          setfacl -m u:4711:rx $M/.d; setfacl -m u:4711:r $M/.d/file
          as 4711 cat $M/.d/file; if as 4712 cat $M/.d/file 2> /dev/null; then exit 1; fi
          test "$(stat -c %a $M/.d/file)" = 640
          # chmod of the group changes the mask, and takes the permission away.
          chmod 600 $M/.d/file; if as 4711 cat $M/.d/file 2> /dev/null; then exit 1; fi
          getfacl -cp $M/.d/file | grep -q 'user:4711:r--.*#effective:---'
          chmod 660 $M/.d/file; as 4711 cat $M/.d/file; getfacl -cp $M/.d/file | grep -q '^group::---'
          setfacl -d -m u:4711:rwx,g:4712:r $M/.d; umask 077
          echo new > $M/.d/new; mkdir $M/.d/sub; echo deep > $M/.d/sub/deep; mkfifo $M/.d/fifo
          getfacl -cp $M/.d/new > $W/new; getfacl -cp $M/.d/sub > $W/sub; stat -c %a $M/.d/new $M/.d/sub > $W/modes
          setfacl -m u:4711:rwx $M/.d; as 4711 bash -c "echo x >> $M/.d/sub/deep"
          setfacl -b $M/.d/file; test "$(getfacl -cp $M/.d/file | wc -l)" = 4; setfacl -k $M/.d; setfacl -k $M/.d
          echo plain > $M/.d/plain; test "$(stat -c %a $M/.d/plain)" = 600
          """)
      #expect(
        try mounted.sh("grep -v ^$ $W/new | tr -s '\t'; cat $W/modes") == """
          user::rw-
          user:4711:rwx\t#effective:rw-
          group::---
          group:4712:r--
          mask::rw-
          other::---
          660
          770
          """)
      #expect(try mounted.sh("grep -c default: $W/sub") == "6")
      // A space that has ACLs is mounted with them.
      try mounted.remount(["--allow-other"])
      try mounted.sh(
        OwnerTests.users
          + "as 4711 cat $M/.d/sub/deep; if as 4713 cat $M/.d/sub/deep; then exit 1; fi")
    }
  }

  @Test func toolsCopyACLsExactly() throws {
    try MountedStore.use(mountOptions: ["-o", "acl"]) { mounted in
      try mounted.sh(
        """
        mkdir -p $W/tree/sub; echo a > $W/tree/a; echo b > $W/tree/sub/b; ln $W/tree/a $W/tree/hard
        setfattr -n user.note -v x $W/tree/a; ln -s a $W/tree/link
        setfacl -m u:4711:rw,g:4712:r $W/tree/a; setfacl -m u:4711:rwx,d:u:4711:rx,d:g::rwx $W/tree/sub
        chmod 750 $W/tree/sub; setfacl -m g:4712:x $W/tree/sub/b
        list() { (cd $1; find . ! -type l | sort | xargs getfacl; find . ! -type l | sort | xargs getfattr -d
          find . ! -type d -printf '%p %m %n %s %l\\n' | sort); }
        list $W/tree > $W/was
        rsync -aHAX $W/tree/ $M/.rsynced/; cp -a $W/tree $M/.copied; mkdir $M/.tarred
        tar --acls --xattrs -C $W/tree -cf - . | tar --acls --xattrs -C $M/.tarred -xf -
        for there in .rsynced .copied .tarred; do list $M/$there | diff $W/was - ; done
        test -z "$(rsync -aHAXi $W/tree/ $M/.rsynced/)"
        rsync -aHAX $M/.rsynced/ $W/back/; list $W/back | diff $W/was -
        """)
      try mounted.remount()
      try mounted.sh("rsync -aHAX $M/.copied/ $W/again/; getfacl -Rp $W/again > /dev/null")
      #expect(try mounted.sh("rsync -aHAXi $W/tree/ $M/.copied/") == "")
    }
  }

  /// The group of a photo's ACL gets no more rights to the thumbnail than to the photo.
  @Test func aThumbnailAndTheDirectoriesOfAnAlbumHaveTheACLsOfWhatTheyBelongTo() throws {
    try MountedStore.use(mountOptions: ["-o", "acl"]) { mounted in
      try mounted.makePictures()
      try mounted.sh(
        "setfacl -d -m u:4711:rx $M; mkdir $M/A; cp $W/pictures/picture.png $M/A/Photo/")
      try mounted.sync()
      #expect(try mounted.sh("getfacl -cp $M/A/Thumb") == mounted.sh("getfacl -cp $M/A/Photo"))
      #expect(try mounted.sh("getfacl -cp $M/A/Thumb | grep -c 4711") == "2")
      try mounted.sh("setfacl -m u:4712:rw,g::-,m::rw $M/A/Photo/picture.png")
      let photo = try mounted.sh("getfacl -cp $M/A/Photo/picture.png")
      #expect(photo.contains("user:4712:rw-") && photo.contains("group::---"))
      #expect(try mounted.sh("getfacl -cp $M/A/Thumb/picture.png") == photo)
    }
  }

  @Test func withoutTheOptionSetfaclSaysThatThereAreNone() throws {
    try MountedStore.use { mounted in
      let refused = try mounted.outcome("touch $M/f; setfacl -m u:4711:r $M/f")
      #expect(refused.errors.contains("Operation not supported"), "\(refused)")
      try mounted.sh("cp -a $M/f $M/g; rsync -aX $M/f $M/h; ls -l $M")
    }
  }

  @Test func theUmaskIsAppliedOnce() throws {
    try MountedStore.use { mounted in
      try mounted.python(
        """
        for mask in 0o000, 0o022, 0o077, 0o227:
            os.umask(mask); D = f"{M}/.d{mask}"; os.mkdir(D, 0o777)
            os.chmod(D, 0o700)
            os.close(os.open(D + "/f", os.O_CREAT | os.O_WRONLY, 0o666)); os.mkfifo(D + "/p", 0o666)
            os.mkdir(D + "/d", 0o1777); os.symlink("x", D + "/l")
            assert stat.S_IMODE(os.stat(D + "/f").st_mode) == 0o666 & ~mask
            assert stat.S_IMODE(os.stat(D + "/p").st_mode) == 0o666 & ~mask
            assert stat.S_IMODE(os.stat(D + "/d").st_mode) == 0o1777 & ~mask
            assert stat.S_IMODE(os.lstat(D + "/l").st_mode) == 0o777
        """)
    }
  }

  @Test func aFileWithoutANameGetsOneWhenItIsWhole() throws {
    try MountedStore.use { mounted in
      try mounted.makePictures()
      try mounted.python(
        """
        os.mkdir(M + "/A"); D = M + "/A/Photo"
        picture = get(W + "/pictures/picture.png")
        AT_SYMLINK_FOLLOW = 0x400
        def link(fd, path):
            if libc.linkat(-100, os.fsencode(f"/proc/self/fd/{fd}"), -100, os.fsencode(path), AT_SYMLINK_FOLLOW):
                raise OSError(ctypes.get_errno(), "linkat")
        fd = os.open(D, os.O_TMPFILE | os.O_RDWR, 0o640)
        assert os.fstat(fd).st_nlink == 0 and os.listdir(D) == []
        os.write(fd, picture[:1000]); os.fsync(fd); os.write(fd, picture[1000:])
        link(fd, D + "/picture.png"); assert os.fstat(fd).st_nlink == 1
        fails(errno.EEXIST, link, fd, D + "/picture.png")
        os.close(fd); assert get(D + "/picture.png") == picture
        assert os.stat(D + "/picture.png").st_mode & 0o777 == 0o640
        never = os.open(D, os.O_TMPFILE | os.O_RDWR | os.O_EXCL); os.write(never, b"x" * 5_000_000)
        fails(errno.ENOENT, link, never, D + "/never"); os.close(never)
        import tempfile
        with tempfile.TemporaryFile(dir=M) as file: file.write(b"x"); file.seek(0); assert file.read() == b"x"
        assert os.listdir(D) == ["picture.png"]
        """)
      try mounted.sync()
      #expect(try mounted.sh("ls $M/A/Thumb") == "picture.png")
      try mounted.remount()
      try mounted.sh("cmp $W/pictures/picture.png $M/A/Photo/picture.png")
    }
  }

  @Test func aFileWithoutANameLeavesNothing() throws {
    let mounted = try MountedStore()
    defer { mounted.abandon() }
    try mounted.mount()
    try mounted.sh(
      """
      /usr/bin/python3 -c 'import os, signal, sys
      fd = os.open(sys.argv[1], os.O_TMPFILE | os.O_RDWR); os.write(fd, b"x" * 3_000_000); os.fsync(fd)
      open(sys.argv[2], "w").close(); signal.pause()' $M $W/there > /dev/null 2>&1 &
      echo $! > $W/pid; await test -e $W/there
      """)
    defer { _ = try? mounted.sh("kill -9 $(cat $W/pid)") }
    try mounted.kill()
    try mounted.sh("albumfs umount $M; albumfs check --password-file $P $S")
    try mounted.mount()
    #expect(try mounted.sh("ls -A $M") == "")
    try mounted.unmount()
  }
}
