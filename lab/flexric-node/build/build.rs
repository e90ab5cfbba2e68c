//! Compiles the C side against the headers of an installed FlexRIC, with the versions it was built
//! for, and links its agent. Does nothing without the feature `flexric`.

#[cfg(not(feature = "flexric"))]
fn main() {
    println!("cargo::rerun-if-changed=build");
}

#[cfg(feature = "flexric")]
#[path = "../src/build_id.rs"]
#[expect(unreachable_pub, reason = "public in the library, of which this is a part")]
mod build_id;
#[cfg(feature = "flexric")]
mod struct_sizes;

#[cfg(feature = "flexric")]
fn main() {
    for variable in ["FLEXRIC_SRC", "FLEXRIC_BUILD"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=../../gateway/flexric/node");
    println!("cargo::rerun-if-changed=../../gateway/flexric/service-model/include");
    if let Err(error) = flexric::build() {
        println!("cargo::error={error}");
    }
}

#[cfg(feature = "flexric")]
mod flexric {
    use std::{
        env, fs,
        path::{Path, PathBuf},
    };

    use super::{build_id::build_id, struct_sizes};

    /// The C side of an E2 node.
    const C_SIDE: &str = "../../gateway/flexric/node";
    /// The interface of E2SM-TC v1's service model.
    const TC_SERVICE_MODEL: &str = "../../gateway/flexric/service-model/include";

    pub(super) fn build() -> Result<(), String> {
        let source = folder("FLEXRIC_SRC", "src/agent/e2_agent_api.h")?;
        let build = folder("FLEXRIC_BUILD", "CMakeCache.txt")?;
        let cache = Cache::read(&build)?;
        let (e2ap, kpm) = (cache.version("E2AP")?, cache.version("KPM")?);
        let kpm_model = kpm_model(&build.join("src/sm/kpm_sm"))?;

        let mut compiler = cc::Build::new();
        compiler
            .files(
                ["agent", "plain_reports", "tc_report", "tc_control", "tc_v1", "kpm"]
                    .map(|name| format!("{C_SIDE}/{name}.c")),
            )
            .std("gnu11")
            .warnings_into_errors(true)
            .include(TC_SERVICE_MODEL)
            // FlexRIC's headers are not ours to mend.
            .flag("-isystem")
            .flag(source.join("src").display().to_string())
            .define(e2ap, None)
            .define(kpm, None);
        for flag in cache.words("CMAKE_C_FLAGS").filter(|flag| flag != "-w") {
            compiler.flag(flag);
        }
        struct_sizes::check(
            &compiler.get_compiler(),
            &source,
            &build.join("src/agent/libe2_agent.a"),
        )?;
        compiler
            .try_compile("flexric_node_c")
            .map_err(|error| format!("{C_SIDE} does not compile: {error}"))?;

        for (library, folder) in
            [("e2_agent", "agent"), ("kpm_sm_static", &format!("sm/kpm_sm/{kpm_model}"))]
        {
            println!(
                "cargo::rustc-link-search=native={}",
                build.join("src").join(folder).display()
            );
            println!("cargo::rustc-link-lib=static:-bundle={library}");
        }
        // FlexRIC's clean-up at the end of a block is a nested function that lives on the stack.
        println!("cargo::rustc-link-arg-bins=-Wl,-z,execstack");
        // The service model of E2SM-TC v1 finds the node by this name.
        println!("cargo::rustc-link-arg-bins=-Wl,-u,sojourn_tc_interface");
        println!("cargo::rustc-link-arg-bins=-Wl,--export-dynamic-symbol=sojourn_tc_interface");
        for flag in cache.words("CMAKE_EXE_LINKER_FLAGS") {
            println!("cargo::rustc-link-arg-bins={flag}");
        }
        for library in ["sctp", "dl", "m"] {
            println!("cargo::rustc-link-lib={library}");
        }
        for (model, file) in [
            ("MAC", "mac_sm/libmac_sm.so"),
            ("RLC", "rlc_sm/librlc_sm.so"),
            ("TC", "tc_sm/libtc_sm.so"),
            ("KPM", &format!("kpm_sm/{kpm_model}/libkpm_sm.so")),
        ] {
            let path = build.join("src/sm").join(file);
            println!("cargo::rerun-if-changed={}", path.display());
            let id = build_id(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            println!("cargo::rustc-env=FLEXRIC_{model}_SM={id}");
        }
        Ok(())
    }

    /// The folder of the only version of KPM that was built, named after it.
    fn kpm_model(models: &Path) -> Result<String, String> {
        let shown = models.display();
        let mut built: Vec<String> = fs::read_dir(models)
            .map_err(|error| format!("{shown}: {error}"))?
            .filter_map(Result::ok)
            .filter(|entry| entry.path().join("libkpm_sm.so").is_file())
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        match (built.pop(), built.is_empty()) {
            (Some(only), true) => Ok(only),
            _ => Err(format!("{shown}: expected one folder with libkpm_sm.so")),
        }
    }

    /// The folder that an environment variable names, which must hold `file`.
    fn folder(variable: &str, file: &str) -> Result<PathBuf, String> {
        let value = env::var(variable).map_err(|_| {
            format!("{variable} is not set; expected the {} of FlexRIC", what(variable))
        })?;
        let folder = PathBuf::from(value);
        if folder.join(file).is_file() {
            return Ok(folder);
        }
        let (shown, what) = (folder.display(), what(variable));
        Err(format!("{variable}={shown}: has no {file}; expected the {what} of FlexRIC"))
    }

    fn what(variable: &str) -> &'static str {
        if variable == "FLEXRIC_SRC" { "source tree" } else { "build tree" }
    }

    /// What CMake remembers of the build.
    struct Cache(String);

    impl Cache {
        fn read(build: &Path) -> Result<Self, String> {
            let path = build.join("CMakeCache.txt");
            fs::read_to_string(&path)
                .map(Self)
                .map_err(|error| format!("{}: {error}", path.display()))
        }

        fn value(&self, name: &str) -> &str {
            self.0
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(':')?.split_once('='))
                .map_or("", |(_, value)| value)
        }

        fn words(&self, name: &str) -> impl Iterator<Item = String> {
            self.value(name).split_whitespace().map(str::to_owned)
        }

        /// The macro of a version that FlexRIC was built with, such as `KPM_V2_03`.
        fn version(&self, of: &str) -> Result<&str, String> {
            let value = self.value(&format!("{of}_VERSION"));
            if value.strip_prefix(of).is_some_and(|version| version.starts_with("_V")) {
                return Ok(value);
            }
            Err(format!("FlexRIC was built with {of}_VERSION={value:?}; expected {of}_V…"))
        }
    }
}
