// An ordinary Rust program on files: what its standard library calls, and that the preload changes nothing.
use std::{fs, io::{Read, Write, Seek, SeekFrom}, os::unix::fs::FileExt, process::Command};
fn main() -> std::io::Result<()> {
    fs::create_dir_all("rust/inner")?;
    let mut f = fs::File::create("rust/a.bin")?;
    f.write_all(&[7u8; 100_000])?;
    f.write_all_at(b"placed", 10)?;
    f.sync_all()?;
    drop(f);
    println!("{}", fs::copy("rust/a.bin", "rust/b.bin")?);
    fs::rename("rust/b.bin", "rust/c.bin")?;
    let mut f = fs::File::open("rust/c.bin")?;
    f.seek(SeekFrom::Start(10))?;
    let mut back = [0u8; 6];
    f.read_exact(&mut back)?;
    println!("{}", String::from_utf8_lossy(&back));
    println!("{}", fs::read_dir("rust")?.count());
    println!("{:?}", fs::metadata("rust/nowhere").map_err(|e| e.kind()).err());
    println!("{:?}", Command::new("sh").args(["-c", "exit 4"]).status()?.code());
    let t = std::thread::spawn(|| fs::write("rust/d", "thread").is_ok());
    println!("{}", t.join().unwrap());
    fs::remove_dir_all("rust")?;
    Ok(())
}
