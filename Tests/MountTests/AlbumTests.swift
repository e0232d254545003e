import AlbumTestSupport
import Foundation
import Testing

/// Albums as a person sees them: folders with Photo and Thumb, thumbnails that follow their photos.
@Suite(.serialized) struct AlbumTests {
  @Test func aNewFolderIsAnAlbumWithPhotoAndThumbAtOnce() throws {
    try MountedStore.use { mounted in
      #expect(try mounted.sh("mkdir $M/Trip; ls $M/Trip") == "Photo\nThumb")
      try mounted.sh("test -d $M/Trip/Photo; test -d $M/Trip/Thumb")
      #expect(try mounted.sh("mkdir \"$M/Trip/Day 1\"; ls \"$M/Trip/Day 1\"") == "Photo\nThumb")
      #expect(try mounted.sh("mkdir $M/photo; ls $M/photo") == "Photo\nThumb")
    }
  }

  @Test func aFolderWhoseNameBeginsWithADotIsAPlainOne() throws {
    try MountedStore.use { mounted in
      #expect(try mounted.sh("mkdir -p $M/.Trash/files; find $M/.Trash/files -mindepth 1") == "")
      try mounted.sh("mkdir $M/Trip $M/Trip/.tool $M/Trip/.tool/Photo")
      #expect(try mounted.sh("find $M/Trip/.tool -mindepth 1 -printf '%P\\n'") == "Photo")
    }
  }

  @Test func everyPhotoGetsAnUprightThumbnailOfItsName() throws {
    let pictures = try PictureSet.shared.get().pictures
    try MountedStore.use { mounted in
      try mounted.write(pictures, into: "pictures")
      try mounted.sh("mkdir $M/Trip; cp $W/pictures/* $M/Trip/Photo/")
      try mounted.sync()
      #expect(try mounted.sh("ls $M/Trip/Thumb") == mounted.sh("ls $W/pictures"))
      for name in pictures.keys.sorted() {
        let thumbnail = try mounted.bytes("$M/Trip/Thumb/\(name)")
        let pixels = try TestPictures.decode(thumbnail)
        #expect(pixels.isUpright, "\(name): \(pixels)")
        #expect(max(pixels.width, pixels.height) == 512, "\(name): \(pixels)")
        let told = try TestPictures.tags(of: thumbnail)
        #expect(told.allSatisfy { !"EXIF IFD0 GPS XMP IPTC".contains($0.prefix { $0 != ":" }) })
      }
      try mounted.sh("diff -r $W/pictures $M/Trip/Photo")
    }
  }

  /// A file manager with an open window learns from inotify(7) what is new.
  @Test func anOpenWindowShowsNewThumbnails() throws {
    let pictures = try PictureSet.shared.get().some
    try MountedStore.use { mounted in
      try mounted.write(pictures, into: "pictures")
      try mounted.sh(
        """
        mkdir $M/Trip
        stdbuf -oL gio monitor -d $M/Trip/Thumb > $W/events 2>&1 & watcher=$!
        trap 'kill $watcher || true; cat $W/events >&2' EXIT
        await "grep -qs '^inotify wd' /proc/$watcher/fdinfo/*"
        cp $W/pictures/* $M/Trip/Photo/
        # A name need not be UTF-8.
        cp "$W/pictures/$(ls $W/pictures | grep jpg | head -1)" "$M/Trip/Photo/$(printf 'caf\\351.jpg')"
        albumfs sync $M
        for name in $(ls $W/pictures) caf; do
          await "LC_ALL=C grep -aq '$name.*created' $W/events"
        done
        ls $M/Trip/Thumb | wc -l | grep -qx "$(ls $M/Trip/Photo | wc -l)"
        rm $M/Trip/Photo/caf*
        # They are albumfs' own: they follow their photos.
        ls $M/Trip/Photo > $W/names; ls $M/Trip/Thumb | diff $W/names -
        mkdir $M/Other; mv $M/Trip/Photo/* $M/Other/Photo/
        ls $M/Other/Thumb | diff $W/names -; test -z "$(ls $M/Trip/Thumb)"
        albumfs umount $M; trap - EXIT; kill $watcher || true
        """)
      try mounted.mount()
    }
  }

  @Test func aDamagedPictureAndATextHinderNothing() throws {
    let set = try PictureSet.shared.get()
    try MountedStore.use { mounted in
      try mounted.write(
        ["a.jpg": set.damaged, "b.jpg": set.text, "c.txt": set.text, "d.jpg": Data()],
        into: "pictures")
      try mounted.write(set.some, into: "pictures")
      try mounted.sh("mkdir $M/Trip; cp $W/pictures/* $M/Trip/Photo/")
      try mounted.sync()
      try mounted.sh("diff -r $W/pictures $M/Trip/Photo")
      let thumbnails = try mounted.sh("ls $M/Trip/Thumb").split(separator: "\n").map(String.init)
      #expect(Set(thumbnails).isSuperset(of: set.some.keys))
      #expect(Set(thumbnails).isDisjoint(with: ["b.jpg", "c.txt", "d.jpg"]))
    }
  }

  @Test func aThumbnailFollowsItsPhoto() throws {
    try MountedStore.use { mounted in
      try mounted.makePictures()
      try mounted.sh("mkdir $M/A $M/B; cp $W/pictures/* $M/A/Photo/")
      try mounted.sync()
      try mounted.sh(
        """
        cd $M
        sum() { sha256sum < "$1"; }
        thumbnail=$(sum 'A/Thumb/orientation 1.jpg')
        mv 'A/Photo/orientation 1.jpg' A/Photo/x.jpg
        test "$(sum A/Thumb/x.jpg)" = "$thumbnail"; test ! -e 'A/Thumb/orientation 1.jpg'
        mv A/Photo/x.jpg B/Photo/
        test "$(sum B/Thumb/x.jpg)" = "$thumbnail"; test ! -e A/Thumb/x.jpg
        mkdir B/Photo/folder; mv B/Photo/x.jpg B/Photo/folder/
        test "$(sum B/Thumb/folder/x.jpg)" = "$thumbnail"; test ! -e B/Thumb/x.jpg
        mv B/Photo/folder/x.jpg B/Photo/; rmdir B/Photo/folder; test ! -e B/Thumb/folder
        mkdir .Trash; mv B .Trash/; test "$(sum .Trash/B/Thumb/x.jpg)" = "$thumbnail"
        mv .Trash/B C; test "$(sum C/Thumb/x.jpg)" = "$thumbnail"
        rm C/Photo/x.jpg; test ! -e C/Thumb/x.jpg; test -z "$(ls C/Thumb)"
        """)
    }
  }

  @Test func photosThatSwapNamesSwapThumbnails() throws {
    try MountedStore.use { mounted in
      try mounted.makePictures()
      try mounted.sh(
        "mkdir $M/A $M/B; cp $W/pictures/*.jpg $M/A/Photo/; cp $W/pictures/*.png $M/B/Photo/")
      try mounted.sync()
      try mounted.python(
        """
        one, other = M + "/A/%s/orientation 1.jpg", M + "/B/%s/picture.png"
        before = get(one % "Thumb"), get(other % "Thumb")
        renameat2(one % "Photo", other % "Photo", RENAME_EXCHANGE)
        assert (get(other % "Thumb"), get(one % "Thumb")) == before
        """)
    }
  }

  @Test func aChangedPhotoGetsANewThumbnail() throws {
    try MountedStore.use { mounted in
      try mounted.makePictures()
      try mounted.sh("mkdir $M/A; cp \"$W/pictures/orientation 1.jpg\" $M/A/Photo/a.jpg")
      try mounted.sync()
      let upright = try mounted.bytes("$M/A/Thumb/a.jpg")
      try mounted.sh(
        """
        vips rot "$W/pictures/orientation 1.jpg" $W/turned.jpg d180
        cp $W/turned.jpg $M/A/Photo/a.jpg
        """)
      try mounted.sync()
      #expect(try mounted.bytes("$M/A/Thumb/a.jpg") != upright)
      #expect(try !mounted.isUpright("$M/A/Thumb/a.jpg"))
    }
  }

  @Test func anAlbumGoesWithOneCommand() throws {
    try MountedStore.use { mounted in
      try mounted.makePictures()
      try mounted.sh(
        """
        mkdir -p $M/A/Inner; cp $W/pictures/* $M/A/Photo/; cp $W/pictures/* $M/A/Inner/Photo/
        cp $W/pictures/*.png $M/A/loose.png
        """)
      try mounted.sync()
      try mounted.sh("rm -r $M/A; test ! -e $M/A; test -z \"$(ls -A $M)\"")
    }
  }

  @Test func anAlbumWithNothingOfTheUsersCanBeRemovedLikeAnEmptyFolder() throws {
    try MountedStore.use { mounted in
      try mounted.makePictures()
      try mounted.sh("mkdir $M/A; rmdir $M/A; test ! -e $M/A")
      try mounted.sh("mkdir $M/A; cp $W/pictures/*.png $M/A/Photo/")
      try mounted.sync()
      #expect(try mounted.outcome("rmdir $M/A").errors.contains("Directory not empty"))
      try mounted.sh("rm $M/A/Photo/*; rmdir $M/A; test ! -e $M/A")
      try mounted.sh("mkdir -p $M/A/B; rmdir $M/A 2>/dev/null && exit 1; rmdir $M/A/B; rmdir $M/A")
    }
  }

  @Test func photoAndThumbStayWhereTheyAre() throws {
    try MountedStore.use { mounted in
      try mounted.python(
        """
        os.mkdir(M + "/A"); os.mkdir(M + "/B"); os.mkdir(M + "/.plain")
        for name in "Photo", "Thumb":
            fails(errno.EBUSY, os.rename, f"{M}/A/{name}", f"{M}/A/Other")
            fails(errno.EBUSY, os.rename, f"{M}/B", f"{M}/A/{name}")
            fails(errno.EBUSY, renameat2, f"{M}/A/{name}", f"{M}/.plain", RENAME_EXCHANGE)
            assert sorted(os.listdir(M + "/A")) == ["Photo", "Thumb"]
        """)
    }
  }

  @Test func aRemovedPhotoOrThumbComesBackWhenItIsNeeded() throws {
    try MountedStore.use { mounted in
      try mounted.makePictures()
      try mounted.sh(
        """
        mkdir $M/A; rmdir $M/A/Thumb $M/A/Photo; test -z "$(ls $M/A)"
        mkdir $M/A/Photo; cp $W/pictures/*.png $M/A/Photo/
        """)
      try mounted.sync()
      #expect(try mounted.sh("ls $M/A $M/A/Thumb | tail -1") == "picture.png")
    }
  }

  @Test func photosRightInAnAlbumStayAndHaveThumbnails() throws {
    try MountedStore.use { mounted in
      try mounted.makePictures()
      try mounted.sh("mkdir $M/A; cp $W/pictures/* $M/A/")
      try mounted.sync()
      #expect(try mounted.sh("ls $M/A/Thumb") == mounted.sh("ls $W/pictures"))
      #expect(try mounted.sh("ls $M/A/Photo") == "")
      try mounted.sh("for photo in $W/pictures/*; do cmp \"$photo\" $M/A/\"${photo##*/}\"; done")
    }
  }

  @Test func tidyMovesPhotosIntoPhotoAndRefusesAClash() throws {
    try MountedStore.use { mounted in
      try mounted.makePictures()
      try mounted.sh("mkdir $M/A; cp $W/pictures/* $M/A/; echo other > $M/A/Photo/picture.png")
      let outcome = try mounted.outcome("albumfs tidy $M/A")
      #expect(outcome.code == 48)
      #expect(outcome.errors.contains("picture.png"))
      #expect(
        try mounted.sh("ls $M/A/Photo") == "orientation 1.jpg\norientation 6.jpg\npicture.png")
      try mounted.sh("cmp $W/pictures/picture.png $M/A/picture.png; rm $M/A/Photo/picture.png")
      try mounted.sh("albumfs tidy -q --all $M; diff -r $W/pictures $M/A/Photo")
      #expect(try mounted.sh("ls $M/A") == "Photo\nThumb")
    }
  }

  @Test func tidySaysBeforehandWhatItMovesAndMovesItBack() throws {
    try MountedStore.use { mounted in
      try mounted.makePictures()
      try mounted.sh("mkdir $M/A; cp $W/pictures/* $M/A/")
      #expect(
        try mounted.sh("albumfs tidy --dry-run -q $M/A | sort") == mounted.sh("cd $M; ls -d A/*.*"))
      #expect(try mounted.sh("ls $M/A/Photo") == "")
      let outcome = try mounted.outcome("albumfs tidy $M/A")
      #expect(outcome.code == 0)
      #expect((outcome.output + outcome.errors).contains("albumfs tidy --undo"))
      #expect(try mounted.sh("ls $M/A") == "Photo\nThumb")
      try mounted.sh("albumfs tidy --undo $M")
      #expect(try mounted.sh("ls $M/A/Photo") == "")
      try mounted.sh("for photo in $W/pictures/*; do cmp \"$photo\" $M/A/\"${photo##*/}\"; done")
      #expect(
        try mounted.outcome("albumfs tidy --undo $M").code != 0, "there is nothing left to undo")
    }
  }

  @Test func oneThumbnailCanBeMadeAgain() throws {
    try MountedStore.use { mounted in
      try mounted.makePictures()
      try mounted.sh("mkdir $M/A; cp $W/pictures/* $M/A/Photo/")
      try mounted.sync()
      for path in ["Photo/picture.png", "Thumb/picture.png"] {
        let outcome = try mounted.outcome("albumfs thumbs --all $M/A/\(path)")
        #expect((outcome.output + outcome.errors).contains("Making 1 thumbnail."))
      }
    }
  }

  @Test func theCoverIsTheFirstPhotoUntilOneIsChosen() throws {
    try MountedStore.use { mounted in
      try mounted.makePictures()
      try mounted.python(
        """
        cover = "user.albumfs.cover"
        os.mkdir(M + "/A")
        fails(errno.ENODATA, os.getxattr, M + "/A", cover)
        subprocess.run(f"cp {W}/pictures/* {M}/A/Photo/", shell=True, check=True)
        assert os.getxattr(M + "/A", cover) == b"orientation 1.jpg"
        assert cover not in os.listxattr(M + "/A")
        fails(errno.EINVAL, os.setxattr, M + "/A", cover, b"nothing.jpg")
        os.setxattr(M + "/A", cover, b"picture.png")
        assert os.getxattr(M + "/A", cover) == b"picture.png"
        assert cover in os.listxattr(M + "/A")
        """)
      try mounted.remount()
      #expect(
        try mounted.sh("getfattr --only-values -n user.albumfs.cover $M/A 2>/dev/null")
          == "picture.png")
    }
  }

  @Test func aThumbnailOfOnesOwnIsKeptUntilThePhotoChanges() throws {
    try MountedStore.use { mounted in
      try mounted.makePictures()
      try mounted.sh("mkdir $M/A; echo mine > $M/A/Thumb/a.jpg")
      try mounted.sh("cp \"$W/pictures/orientation 1.jpg\" $M/A/Photo/a.jpg")
      try mounted.sync()
      #expect(try mounted.sh("cat $M/A/Thumb/a.jpg") == "mine")
      try mounted.remount()
      #expect(try mounted.sh("cat $M/A/Thumb/a.jpg") == "mine")
      try mounted.sh("cp \"$W/pictures/orientation 6.jpg\" $M/A/Photo/a.jpg")
      try mounted.sync()
      #expect(try mounted.isUpright("$M/A/Thumb/a.jpg"))
    }
  }

  @Test func aRemovedThumbnailStaysAwayUntilAskedFor() throws {
    try MountedStore.use { mounted in
      try mounted.makePictures()
      try mounted.sh("mkdir $M/A; cp $W/pictures/* $M/A/Photo/")
      try mounted.sync()
      try mounted.sh("rm $M/A/Thumb/picture.png; test -e $M/A/Photo/picture.png")
      try mounted.remount()
      try mounted.sync()
      try mounted.sh("test ! -e $M/A/Thumb/picture.png; albumfs thumbs -q --missing $M")
      try mounted.sync()
      #expect(try mounted.isUpright("$M/A/Thumb/picture.png"))
    }
  }

  @Test func temporaryFilesOfToolsGetNoThumbnailBeforeTheyAreRenamed() throws {
    try MountedStore.use { mounted in
      try mounted.makePictures()
      try mounted.sh("mkdir $M/A; cp $W/pictures/picture.png $M/A/Photo/.picture.png.Xy12")
      try mounted.sync()
      #expect(try mounted.sh("ls -A $M/A/Thumb") == "")
      try mounted.sh("mv $M/A/Photo/.picture.png.Xy12 $M/A/Photo/picture.png")
      try mounted.sync()
      #expect(try mounted.isUpright("$M/A/Thumb/picture.png"))
    }
  }

  @Test func thumbnailsThatWereStillMissingAreMadeAfterTheNextMount() throws {
    let pictures = try PictureSet.shared.get().pictures
    try MountedStore.use { mounted in
      try mounted.write(pictures, into: "pictures")
      try mounted.sh("mkdir $M/A; cp $W/pictures/* $M/A/Photo/")
      try mounted.remount()
      try mounted.sync()
      #expect(try mounted.sh("ls $M/A/Thumb") == mounted.sh("ls $W/pictures"))
    }
  }

  @Test func aFolderChangesItsKindByBeingCopied() throws {
    try MountedStore.use { mounted in
      try mounted.makePictures()
      try mounted.python(
        """
        os.mkdir(M + "/.plain"); os.mkdir(M + "/A"); os.mkdir(M + "/A/Photo/folder")
        fails(errno.EXDEV, os.rename, M + "/.plain", M + "/Plain")
        fails(errno.EXDEV, os.rename, M + "/A/Photo/folder", M + "/A/folder")
        os.mkdir(M + "/B")
        fails(errno.EXDEV, os.rename, M + "/B", M + "/A/Photo/B")
        """)
      try mounted.sh(
        """
        cd $M; cp $W/pictures/* .plain/; mv .plain Plain; test ! -e .plain
        test -d Plain/Photo; for photo in $W/pictures/*; do cmp "$photo" Plain/"${photo##*/}"; done
        cp $W/pictures/* B/Photo/; mv B A/Photo/B; test ! -e B; diff -r $W/pictures A/Photo/B/Photo
        """)
    }
  }

  @Test func failedThumbnailsAreReported() throws {
    try MountedStore.use { mounted in
      // The head of a PNG with nothing behind it that can be decoded.
      let broken = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) + Data(count: 100)
      try mounted.write(broken, "broken.png")
      try mounted.sh("mkdir $M/A; cp $W/broken.png $M/A/Photo/")
      try mounted.sync()
      let status = try mounted.status()
      #expect(status.thumbnails.failed == 1)
      #expect(status.thumbnails.failures.first?.path.hasSuffix("A/Photo/broken.png") == true)
      #expect(status.photos >= 1)
      try mounted.remount()
      #expect(try mounted.status().thumbnails.failed == 1)
      #expect(try mounted.status().thumbnails.pending == 0)
    }
  }

  @Test func thumbnailsHaveTheTimesOwnerAndModeOfTheirPhotos() throws {
    try MountedStore.use { mounted in
      try mounted.makePictures()
      try mounted.sh(
        """
        mkdir $M/A; cp $W/pictures/picture.png $M/A/Photo/
        chmod 754 $M/A/Photo/picture.png; touch -d '2001-02-03 04:05:06.789' $M/A/Photo/picture.png
        """)
      try mounted.sync()
      #expect(
        try mounted.sh("stat -c '%a %u %g %Y' $M/A/Thumb/picture.png")
          == mounted.sh("stat -c '644 %u %g %Y' $M/A/Photo/picture.png"))
      // Also where the kernel knows the thumbnail already, and after its content was read.
      for date in ["2011-02-03 04:05:06", "1999-12-31 23:59:58"] {
        try mounted.sh(
          "cat $M/A/Thumb/picture.png > $W/thumbnail; touch -d '\(date)' $M/A/Photo/picture.png")
        #expect(
          try mounted.sh("stat -c '%Y' $M/A/Thumb/picture.png")
            == mounted.sh("stat -c '%Y' $M/A/Photo/picture.png"))
        try mounted.sh("cmp $M/A/Thumb/picture.png $W/thumbnail")
      }
      let before = try mounted.sh("stat -c %i $M/A/Thumb/picture.png")
      try mounted.remount()
      #expect(try mounted.sh("stat -c %i $M/A/Thumb/picture.png") == before)
    }
  }
}
