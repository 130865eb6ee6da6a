fn main() -> std::process::ExitCode {
    pliant::cli::main()
}
