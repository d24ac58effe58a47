//! Files and loop devices on this machine's disk, in real time.

use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use fathom_conformance::Suite;
use fathom_runtime::{RingSetup, Runtime};
use fathom_volume::{Blueprint, Class, Env, Error, ErrorKind, Handle, Pool, Request, Result};
use tempfile::TempDir;

use super::new::New;
use super::{Allocation, Config, Direct};
use crate::testing::{no_program_starts, read};

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder for temporary files")
}

fn runtime() -> (Runtime, Env) {
    let runtime = Runtime::real(RingSetup::default(), 1).expect("the tests need an io_uring");
    let context = runtime.context();
    let pool = Pool::new(&context);
    (runtime, Env::new(context, pool))
}

fn sized(path: &Path, size: u64) -> Config {
    Config { size: Some(size), ..Config::of_path(path.to_string_lossy()) }
}

fn build(config: &Config) -> Result<Handle> {
    let (_, env) = runtime();
    config.build(&env, "disk", Vec::new())
}

fn refused(config: &Config) -> Error {
    build(config).expect_err("this cannot be opened")
}

fn roundtrip(config: &Config) {
    let (runtime, env) = runtime();
    let volume = config.build(&env, "disk", Vec::new()).expect("the file can be had");
    let work = async {
        let written = env.pool.copy_of(&(0..8192).map(|i| i as u8).collect::<Vec<_>>());
        volume.write(Request::new(4096, 8192), written.clone()).await?;
        volume.write(Request::new(32768, 8192).with_fua(true), written.clone()).await?;
        volume.flush(Request::flush()).await?;
        volume.write_zeroes(Request::new(8192, 4096).with_fua(true)).await?;
        volume.trim(Request::new(32768, 4096)).await?;
        let found = env.pool.get(12288);
        volume.read(Request::new(0, 12288), found.clone()).await?;
        found.with(|found| {
            written.with(|written| assert_eq!(found[4096..8192], written[..4096]));
            assert!(found[..4096].iter().chain(&found[8192..]).all(|byte| *byte == 0));
        });
        Ok::<_, Error>(())
    };
    runtime.block_on(work).expect("the kernel answers").expect("nothing fails");
}

#[test]
fn what_goes_to_the_page_cache_in_pieces_is_whole() {
    let folder = folder();
    let path = folder.path().join("disk");
    let (runtime, env) = runtime();
    let config = Config { direct: Direct::Off, ..sized(&path, 4 << 20) };
    let volume = config.build(&env, "disk", Vec::new()).expect("the file can be had");
    let mut expected = vec![0; 4 << 20];
    let writes = [(Class::Foreground, 12 << 10, 1 << 20), (Class::Destage, 20 << 10, (1 << 20) + 4096)];
    for (turn, (class, offset, length)) in writes.into_iter().cycle().take(4).enumerate() {
        let bytes: Vec<u8> = (0..length).map(|at: usize| (at / 512 + at + turn) as u8).collect();
        let request = Request::new(offset as u64, length as u64).on_behalf_of(class).with_fua(turn > 1);
        let written = runtime.block_on(volume.write(request, env.pool.copy_of(&bytes)));
        written.expect("the kernel answers").expect("nothing fails");
        expected[offset..offset + length].copy_from_slice(&bytes);
        assert!(fs::read(&path).is_ok_and(|found| found == expected), "{class:?} at {offset}");
    }
}

#[test]
fn it_conforms_direct_and_through_the_page_cache() {
    for direct in [Direct::Prefer, Direct::Off] {
        let folder = folder();
        let config = Config { direct, ..sized(&folder.path().join("disk"), (4 << 20) + 4096) };
        Suite::new(move |bench| {
            if bench.env.context.is_virtual() {
                // There are no files in virtual time: the suite gets what stands in for one there.
                return crate::memory::Config::of_size((4 << 20) + 4096).build(
                    &bench.env,
                    "volume",
                    Vec::new(),
                );
            }
            config.build(&bench.env, "volume", Vec::new())
        })
        .check();
    }
}

#[test]
fn what_is_written_is_read_whatever_the_allocation() {
    for allocation in [Allocation::Sparse, Allocation::Reserved, Allocation::Written] {
        let folder = folder();
        let path = folder.path().join("disk");
        let config = Config { allocation, ..sized(&path, 1 << 20) };
        roundtrip(&config);
        let space = std::os::unix::fs::MetadataExt::blocks(&fs::metadata(&path).expect("it is there")) * 512;
        assert_eq!(space > 900 << 10, allocation != Allocation::Sparse, "{allocation:?} takes {space} bytes");
    }
}

#[test]
fn a_file_that_is_made_is_its_owner_s_alone() {
    let folder = folder();
    for allocation in [Allocation::Sparse, Allocation::Reserved, Allocation::Written] {
        let path = folder.path().join(format!("{allocation:?}"));
        build(&Config { allocation, ..sized(&path, 1 << 20) }).expect("it is made");
        let mode = fs::metadata(&path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{allocation:?}");
    }
}

#[test]
fn a_file_has_its_name_once_it_is_whole_and_leaves_nothing_before() {
    let folder = folder();
    let at = folder.path().join("disk");
    let path = at.to_string_lossy();
    let make =
        || New::make(&path, 1 << 20, Allocation::Written).expect("there is room").expect("nobody else");
    drop(make());
    assert!(!at.exists(), "given up");
    let (first, second) = (make(), make());
    assert!(!at.exists(), "it has no name yet");
    assert!(first.place().expect("the folder is there"));
    assert!(!second.place().expect("the folder is there"), "the other one was first");
    assert_eq!(fs::metadata(&at).expect("it is there").len(), 1 << 20);
    // What the settings refuse of a new file is no file.
    fs::remove_file(&at).expect("it is there");
    assert!(refused(&sized(&at, 1 << 20 | 1)).to_string().contains("no multiple"));
    assert!(!at.exists());
}

#[test]
fn buffers_that_are_not_aligned_go_by_a_copy() {
    let folder = folder();
    let (runtime, env) = runtime();
    let volume =
        sized(&folder.path().join("disk"), 1 << 20).build(&env, "disk", Vec::new()).expect("it opens");
    let block = env.pool.get(4096 + 512);
    block.slice(3..4099).copy_from(&[7; 4096]);
    let work = async {
        volume.write(Request::new(0, 4096), block.slice(3..4099)).await?;
        volume.read(Request::new(0, 4096), block.slice(5..4101)).await
    };
    runtime.block_on(work).expect("the kernel answers").expect("nothing fails");
    block.slice(5..4101).with(|bytes| assert_eq!(bytes, [7; 4096]));
    let direct = volume.facts()[0].1 == "yes";
    assert_eq!(volume.counters(), [("bounced", if direct { 2 } else { 0 }), ("fenced", 0)]);
}

#[test]
fn each_way_of_going_wrong_says_what_to_do() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("small"), vec![0; 4096]).expect("a small file");
    fs::write(at("empty"), b"").expect("an empty file");
    let cases = [
        (Config::of_path(at("none").to_string_lossy()), "give a `size`"),
        (sized(&at("small"), 1 << 20), "holds 4096 bytes, and 1048576 were asked for"),
        (Config::of_path(at("empty").to_string_lossy()), "it is empty"),
        (Config::of_path(folder.path().to_string_lossy()), "a directory"),
        (Config::of_path("/dev/null"), "neither a file nor a block device"),
        (sized(&at("small/below"), 4096), "check the folders"),
        (Config { allocation: Allocation::Reserved, ..sized(&at("huge"), 1 << 60) }, "huge"),
    ];
    for (config, words) in cases {
        let error = refused(&config).to_string();
        assert!(error.contains(words) && error.contains(&config.path), "{error}");
    }
    assert!(!at("huge").exists(), "nothing half made is left");
}

#[test]
fn a_file_in_use_is_refused_and_readers_share() {
    let _alone = no_program_starts();
    let folder = folder();
    let path = folder.path().join("disk");
    let (_runtime, env) = runtime();
    let config = sized(&path, 1 << 20);
    let first = config.build(&env, "first", Vec::new()).expect("nobody has it");
    let error = config.build(&env, "second", Vec::new()).expect_err("the first has it");
    assert!(error.to_string().contains("has it locked"), "{error}");
    drop(first);
    let shared = Config { read_only: true, ..config.clone() };
    let reader = shared.build(&env, "reader", Vec::new()).expect("nobody writes");
    shared.build(&env, "another", Vec::new()).expect("readers share");
    config.build(&env, "writer", Vec::new()).expect_err("there are readers");
    drop(reader);
    config.build(&env, "writer", Vec::new()).expect("all are gone");
}

#[test]
fn a_read_only_volume_refuses_to_write() {
    let folder = folder();
    let path = folder.path().join("disk");
    fs::write(&path, vec![1; 8192]).expect("a file");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).expect("its mode");
    let (runtime, env) = runtime();
    let config = Config { read_only: true, ..Config::of_path(path.to_string_lossy()) };
    let volume = config.build(&env, "disk", Vec::new()).expect("it can be read");
    let write = volume.write(Request::new(0, 4096), env.pool.zeroes(4096));
    let error = runtime.block_on(write).expect("it answers").expect_err("it is read-only");
    assert_eq!(error.kind(), ErrorKind::Misuse);
    runtime.block_on(volume.flush(Request::flush())).expect("it answers").expect("there is nothing to flush");
    let buf = env.pool.get(4096);
    runtime
        .block_on(volume.read(Request::new(4096, 4096), buf.clone()))
        .expect("it answers")
        .expect("it reads");
    buf.with(|bytes| assert_eq!(bytes, [1; 4096]));
}

#[test]
fn a_file_that_became_shorter_is_an_error_and_not_zeroes() {
    let folder = folder();
    let path = folder.path().join("disk");
    let (runtime, env) = runtime();
    let volume = sized(&path, 1 << 20).build(&env, "disk", Vec::new()).expect("it opens");
    let file = fs::OpenOptions::new().write(true).open(&path).expect("it is there");
    file.set_len(8192).expect("it can be cut");
    let read = volume.read(Request::new(4096, 8192), env.pool.get(8192));
    let error = runtime.block_on(read).expect("it answers").expect_err("half of it is gone");
    assert!(error.to_string().contains("ended at byte 8192 of 1048576"), "{error}");
}

#[test]
fn a_file_that_was_cut_short_serves_nothing_any_more() {
    const SIZE: u64 = 1 << 20;
    let page = |offset: u64| Request::new(offset, 4096);
    for (direct, notices) in [Direct::Prefer, Direct::Off].into_iter().flat_map(|direct| {
        ["read", "flush", "write with FUA", "last write", "zeroes"].map(|what| (direct, what))
    }) {
        let folder = folder();
        let path = folder.path().join("disk");
        let (runtime, env) = runtime();
        let config = Config { direct, ..sized(&path, SIZE) };
        let volume = config.build(&env, "disk", Vec::new()).expect("it opens");
        let bytes = || env.pool.copy_of(&[7; 4096]);
        let answer = |work| runtime.block_on(work).expect("it answers");
        let length = |bytes| {
            let file = fs::OpenOptions::new().write(true).open(&path).expect("it is there");
            file.set_len(bytes).expect("it can be cut");
        };
        answer(volume.write(page(0), bytes())).expect("it is whole");
        length(8192);
        // What is written behind the cut makes it longer again.
        answer(volume.write(page(64 << 10), bytes())).expect("nobody has noticed yet");
        let noticed = match notices {
            "read" => runtime.block_on(volume.read(page(SIZE / 2), env.pool.get(4096))),
            "flush" => runtime.block_on(volume.flush(Request::flush())),
            "write with FUA" => runtime.block_on(volume.write(page(4096).with_fua(true), bytes())),
            "last write" => runtime.block_on(volume.write(page(SIZE - 4096), bytes())),
            _ => runtime.block_on(volume.write_zeroes(page(4096))),
        };
        let why = noticed.expect("it answers").expect_err(notices);
        assert!(why.to_string().contains("ended at byte 69632"), "{notices}: {why}");
        assert!(fs::metadata(&path).is_ok_and(|found| found.len() < SIZE), "{notices}");
        refused(&config);
        length(SIZE);
        volume.reopen();
        for answer in [
            runtime.block_on(volume.read(page(0), env.pool.get(4096))),
            runtime.block_on(volume.write(page(0), bytes())),
            runtime.block_on(volume.flush(Request::flush())),
        ] {
            let why = answer.expect("it answers").expect_err("a part of it is gone");
            assert_eq!(why.kind(), ErrorKind::Fenced, "{notices}: {why}");
        }
        drop(volume);
        config.build(&env, "disk", Vec::new()).expect("who starts again has looked at it");
    }
}

#[test]
fn without_payload_and_in_virtual_time_there_are_no_files() {
    let folder = folder();
    let config = sized(&folder.path().join("disk"), 1 << 20);
    let runtime = Runtime::virtual_time(1);
    let pool = Pool::new(&runtime.context());
    let error = config.build(&Env::new(runtime.context(), pool), "disk", Vec::new()).expect_err("virtual");
    assert!(error.to_string().contains("virtual time"), "{error}");
    let (_real, env) = self::runtime();
    let hollow = Env::new(env.context, Pool::hollow());
    let error = config.build(&hollow, "disk", Vec::new()).expect_err("hollow");
    assert!(error.to_string().contains("without payload"), "{error}");
}

#[test]
fn settings_are_read_and_mistakes_named() {
    let text = "path = \"a.img\"\nsize = \"8GiB\"\nallocation = \"written\"\ndirect = \"require\"";
    let expected = Config {
        size: Some(8 << 30),
        allocation: Allocation::Written,
        direct: Direct::Require,
        ..Config::of_path("a.img")
    };
    assert_eq!(read(text, Config::read), Ok(expected));
    let mistakes = read("path = \"\"\ndirect = \"yes\"\nsize = \"100B\"", Config::read).expect_err("three");
    assert_eq!(mistakes.len(), 3, "{mistakes:?}");
}

/// A loop device over a file; None, said aloud, where this machine gives none.
struct Loop(String);

impl Loop {
    fn over(path: &Path, sector: u32) -> Option<Self> {
        let sector = format!("--sector-size={sector}");
        let path = path.to_string_lossy();
        let made = Command::new("losetup").args(["--find", "--show", &sector, &path]).output();
        match made {
            Ok(output) if output.status.success() => {
                Some(Self(String::from_utf8_lossy(&output.stdout).trim().to_owned()))
            }
            Ok(output) => {
                eprintln!("skipped: no loop device: {}", String::from_utf8_lossy(&output.stderr).trim());
                None
            }
            Err(error) => {
                eprintln!("skipped: no losetup: {error}");
                None
            }
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let freed = Command::new("losetup").args(["--detach", &self.0]).status();
        assert!(freed.is_ok_and(|status| status.success()), "{} stays behind", self.0);
    }
}

#[test]
fn a_block_device_is_used_with_its_own_sectors_and_alone() {
    let _alone = no_program_starts();
    for sector in [512, 4096] {
        let folder = folder();
        let path = folder.path().join("backing");
        fs::File::create(&path).and_then(|file| file.set_len(4 << 20)).expect("a backing file");
        let Some(device) = Loop::over(&path, sector) else { return };
        let config = Config::of_path(&device.0);
        roundtrip(&config);
        let (_runtime, env) = runtime();
        let volume = config.build(&env, "disk", Vec::new()).expect("it can be had");
        let geometry = volume.geometry();
        assert_eq!((geometry.size, geometry.logical_sector), (4 << 20, sector));
        assert!(geometry.physical_sector >= sector && geometry.queue_depth > 0);
        assert_eq!(volume.facts(), [("direct_io", "yes".to_owned())]);
        let error = refused(&config).to_string();
        assert!(error.contains("in use"), "{error}");
        let error = refused(&Config { size: Some(8 << 20), ..config.clone() }).to_string();
        assert!(error.contains("in use"), "{error}");
        drop(volume);
        let error = refused(&Config { size: Some(8 << 20), ..config }).to_string();
        assert!(error.contains("8388608 were asked for"), "{error}");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "another program's ring has a thread of its own")]
fn a_block_device_that_only_a_dying_ring_has_is_waited_for() {
    let _alone = no_program_starts();
    let folder = folder();
    let path = folder.path().join("backing");
    fs::File::create(&path).and_then(|file| file.set_len(4 << 20)).expect("a backing file");
    let Some(device) = Loop::over(&path, 512) else { return };
    let (tell, told) = std::sync::mpsc::channel();
    let place = device.0.clone();
    // As a killed daemon leaves it: no process has it open, a ring does.
    let holder = std::thread::spawn(move || {
        let (runtime, env) = runtime();
        let file = fs::OpenOptions::new().read(true).write(true).custom_flags(libc::O_EXCL).open(&place);
        let file = file.expect("nobody has it");
        let ring = env.context.ring().expect("the real driver has a ring");
        ring.register_file(file.as_raw_fd()).expect("the table has room");
        drop(file);
        let again = fs::OpenOptions::new().write(true).custom_flags(libc::O_EXCL).open(&place);
        tell.send(again.err().and_then(|error| error.raw_os_error())).expect("somebody listens");
        std::thread::park_timeout(std::time::Duration::from_millis(200));
        drop((env, runtime));
    });
    assert_eq!(told.recv().expect("it tells"), Some(libc::EBUSY));
    build(&Config::of_path(&device.0)).expect("the ring is gone soon");
    holder.join().expect("it ends");
}

#[test]
fn a_file_below_loop_devices_has_one_user() {
    let _alone = no_program_starts();
    let folder = folder();
    let path = folder.path().join("disk");
    fs::write(&path, vec![0; 4 << 20]).expect("there is room");
    let attach = |more: &[&str]| {
        let made = Command::new("losetup").args(["--find", "--show"]).args(more).arg(&path).output().ok()?;
        let device = String::from_utf8_lossy(&made.stdout).trim().to_owned();
        made.status.success().then_some(device)
    };
    // As root only, and where there are loop devices.
    let Some(one) = attach(&[]) else { return };
    let others = ["0", "2097152"].map(|offset| attach(&["--offset", offset, "--sizelimit", "2097152"]));
    let another = attach(&[]);
    let across = attach(&["--offset", "1048576", "--sizelimit", "2097152"]);
    let (_runtime, env) = runtime();
    let of = |path: &str| Config::of_path(path);
    let build = |path: &str| of(path).build(&env, "disk", Vec::new());
    let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let first = build(&one).expect("nobody has it");
        for second in [another.as_deref().expect("a second device"), &path.to_string_lossy()] {
            let error = build(second).expect_err("the first has the file below");
            assert!(error.to_string().contains("the file below it"), "{error}");
        }
        drop(first);
        let halves = others.each_ref().map(|half| build(half.as_deref().expect("a device")));
        assert!(halves.iter().all(Result::is_ok), "two halves of one file have a user each: {halves:?}");
        build(&one).expect_err("its halves are in use");
        let across = across.as_deref().expect("a device");
        let error = build(across).expect_err("each half has some of it").to_string();
        assert!(error.contains("the file below it"), "{error}");
        drop(halves);
        drop(build(across).expect("nobody has any of it"));
    }));
    for device in [Some(one), another, across].into_iter().chain(others).flatten() {
        let _ = Command::new("losetup").args(["--detach", &device]).status();
    }
    told.expect("the locks hold");
}

#[test]
fn a_file_below_a_device_that_is_in_use_is_refused_by_whichever_name_and_however_deep() {
    let _alone = no_program_starts();
    let folder = folder();
    let path = folder.path().join("disk");
    fs::write(&path, vec![0; 4 << 20]).expect("there is room");
    let other = folder.path().join("other");
    fs::hard_link(&path, &other).expect("one file system");
    let Some(low) = Loop::over(&path, 512) else { return };
    let high = Loop::over(Path::new(&low.0), 512).expect("there was one");
    let part = Loop::over(&path, 512).expect("there was one");
    fs::remove_file(&path).expect("it was made");
    let refuses = |used: &Loop, told: &str| {
        // As a mount has it.
        let user = fs::OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(&used.0);
        let user = user.expect("nobody has it");
        let error = refused(&Config::of_path(other.to_string_lossy())).to_string();
        assert!(error.contains(&format!("{} is a loop device {told}", used.0)), "{error}");
        drop(user);
    };
    refuses(&high, "over it");
    refuses(&part, "over it");
    let user = fs::OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(&part.0);
    let user = user.expect("nobody has it");
    let error = refused(&Config::of_path(&low.0)).to_string();
    assert!(error.contains("is a loop device over the same bytes"), "{error}");
    drop(user);
    drop(build(&Config::of_path(other.to_string_lossy())).expect("nobody has it any more"));
    drop((high, low, part));
}
