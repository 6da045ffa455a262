//! What the kernel of an emulated machine starts with.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

/// A system in memory, as the kernel unpacks it: `bin/busybox`, what a test adds, and `init`, its first process.
///
/// Its methods panic where something is missing: a test can't go on.
#[derive(Debug)]
pub struct Initramfs {
    root: PathBuf,
}

impl Initramfs {
    /// Begins one in a folder, with busybox and folders that any system has.
    pub fn new(root: &Path) -> Self {
        let system = Self {
            root: root.to_owned(),
        };
        for folder in [
            "bin", "dev", "etc", "modules", "proc", "root", "run", "sbin", "sys", "tmp",
        ] {
            system.add_folder(folder);
        }
        system.add_program(Path::new("/usr/bin/busybox"), "bin/busybox");
        system
    }

    /// A file of it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Adds a folder.
    pub fn add_folder(&self, name: &str) {
        fs::create_dir_all(self.path(name)).expect("the folder is made");
    }

    /// Adds a file, with its folder.
    pub fn add_file(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.place_for(name), content).expect("the file is written");
    }

    /// Adds a script that can be run.
    pub fn add_script(&self, name: &str, text: &str) {
        self.add_file(name, text);
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755))
            .expect("the script is made one that runs");
    }

    /// Adds a program of this machine, with the libraries that it needs.
    pub fn add_program(&self, program: &Path, name: &str) {
        self.add_libraries(program);
        self.copy(program, name);
    }

    /// Adds the libraries that a program of this machine needs.
    pub fn add_libraries(&self, program: &Path) {
        let listed = Command::new("ldd").arg(program).output();
        let listed = String::from_utf8(listed.expect("ldd runs").stdout).expect("paths in UTF-8");
        let words = listed.split_whitespace();
        for library in words.filter(|word| word.starts_with('/')) {
            self.copy(Path::new(library), &library[1..]);
        }
    }

    /// Adds modules of a kernel, each after what it needs itself: `drivers/virtio/virtio`. Returns their names, as
    /// `modules/NAME.ko` has them.
    pub fn add_modules(&self, of_kernel: &Path, modules: &[&str]) -> Vec<String> {
        let add = |module: &&str| {
            let (_, name) = module
                .rsplit_once('/')
                .expect("a module's path has a folder");
            let from = of_kernel.join(format!("{module}.ko"));
            self.copy(&from, &format!("modules/{name}.ko"));
            name.to_owned()
        };
        modules.iter().map(add).collect()
    }

    /// Packs it into a file that a kernel takes.
    pub fn pack(&self, to: &Path) {
        let pack = "cd \"$0\" && find . | busybox cpio -o -H newc 2>/dev/null | gzip -1 > \"$1\"";
        let to = std::path::absolute(to).expect("the packed file has a path");
        let packed = Command::new("sh")
            .args(["-c", pack])
            .args([self.root.as_path(), &to])
            .status();
        assert!(packed.expect("sh runs").success());
    }

    fn copy(&self, from: &Path, name: &str) {
        fs::copy(from, self.place_for(name)).expect("the file is copied");
    }

    /// Where a file will be, with its folder made.
    fn place_for(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a file is in a folder"))
            .expect("its folder is made");
        path
    }
}
