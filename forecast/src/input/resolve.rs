//! From a launch file's tables to a [`Plan`]: names become indices, numbers get their types.

use std::collections::BTreeSet;
use std::path::PathBuf;

use gpucast_buffers::init::Init;
use gpucast_buffers::scalar::ElementType;
use gpucast_corpus::{generator, reference};
use gpucast_counters::hierarchy::L2Contents;
use gpucast_model::Timing;
use gpucast_model::timing::UnknownTiming;
use toml::Spanned;

use super::launch_file::{
    ArgumentValue, BufferTable, ExpectTable, InitValue, LaunchFile, LaunchTable, Number,
    SymbolTable,
};
use super::plan::{
    Against, Buffer, Expectation, LaunchPlaces, Plan, PlannedArgument, PlannedLaunch, Pointer,
    PointerError, Symbol, checked_len,
};
use super::structure::{DEEPEST, Structure, parse_bytes};
use super::texture::{PlannedTexture, TextureTable};
use super::type_name;
use crate::failure::{Anchor, Report, SourceText, suggest};

/// Far more than any statistics need, and few enough to end.
const MOST_REPETITIONS: u32 = 1_000_000;

/// Resolves a launch file whose module has been read.
pub(super) fn resolve(
    source: &SourceText,
    file: LaunchFile,
    module: SourceText,
    folder: PathBuf,
    corpus_name: Option<&'static str>,
) -> Result<Plan, Report> {
    let resolver = Resolver { source };
    let mut tables: Vec<_> = file.buffers.iter().collect();
    // Buffers get their addresses in the order of the text.
    tables.sort_by_key(|(name, _)| name.span().start);
    let mut buffers = tables
        .iter()
        .map(|(name, table)| resolver.buffer(name, table))
        .collect::<Result<Vec<_>, _>>()?;
    let mut symbols = file
        .symbols
        .iter()
        .map(|(name, table)| resolver.symbol(name, table))
        .collect::<Result<Vec<_>, _>>()?;
    symbols.sort_by_key(|symbol| symbol.anchor.range.start);
    let mut of_textures: Vec<_> = file.textures.iter().collect();
    of_textures.sort_by_key(|(name, _)| name.span().start);
    let mut textures = of_textures
        .into_iter()
        .map(|(name, table)| resolver.texture(name, table, &buffers))
        .collect::<Result<Vec<_>, _>>()?;
    // Members may name any buffer and texture.
    for (index, (_, table)) in tables.iter().enumerate() {
        resolver.members(index, table, &mut buffers, &textures)?;
    }
    if file.launch.is_empty() {
        return Err(source
            .report(0..0, "this launch file has no [[launch]]")
            .hint("add a [[launch]] table with kernel, grid, block and args"));
    }
    let launches = file
        .launch
        .iter()
        .map(|table| resolver.launch(table, &buffers, &textures))
        .collect::<Result<Vec<_>, _>>()?;
    let members = tables.iter().filter_map(|(_, table)| match table.init.as_ref()?.get_ref() {
        InitValue::Struct(members) => Some(members),
        _ => None,
    });
    let arguments = file.launch.iter().map(|launch| &launch.get_ref().args);
    let passed: Vec<&str> = arguments.chain(members).flatten().flat_map(texture_names).collect();
    for texture in &mut textures {
        texture.is_argument = passed.contains(&texture.name.as_str());
    }
    let expectations = file
        .expect
        .into_iter()
        .map(|table| resolver.expectation(table, &buffers))
        .collect::<Result<Vec<_>, _>>()?;
    unused(&buffers, &textures, &launches, &expectations).map_or(Ok(()), Err)?;
    Ok(Plan {
        module,
        note: None,
        cubins: Vec::new(),
        target: None,
        corpus_name,
        folder,
        buffers,
        symbols,
        textures,
        load_caching: file.load_caching,
        l2: file.l2.map_or_else(L2Contents::default, Into::into),
        timing: file.timing.map(|word| resolver.timing(&word)).transpose()?,
        launches,
        expectations,
    })
}

/// A complaint about a buffer that no launch could reach and nobody looks at.
fn unused(
    buffers: &[Buffer],
    textures: &[PlannedTexture],
    launches: &[PlannedLaunch],
    expectations: &[Expectation],
) -> Option<Report> {
    let mut used: BTreeSet<usize> =
        expectations.iter().map(|expectation| expectation.buffer).collect();
    used.extend(textures.iter().map(|texture| texture.buffer));
    let arguments = launches.iter().flat_map(|launch| &launch.arguments);
    used.extend(arguments.flat_map(PlannedArgument::buffers));
    used.extend(
        buffers.iter().flat_map(|buffer| &buffer.pointers).map(|(_, pointer)| pointer.buffer),
    );
    let index = (0..buffers.len()).find(|index| !used.contains(index))?;
    let name = &buffers[index].name;
    let report = Report::new(format!("no launch uses buffer `{name}`")).at(&buffers[index].anchor);
    Some(report.hint(format!(
        "pass it as an argument, args = [\"{name}\"], or remove it; a `__constant__` or \
         `__device__` variable is filled by [symbols.{name}]"
    )))
}

/// The textures whose handles an argument or its members are.
fn texture_names(argument: &Spanned<ArgumentValue>) -> Vec<&str> {
    match argument.get_ref() {
        ArgumentValue::Texture(name) => vec![name],
        ArgumentValue::Structure(members) => members.iter().flat_map(texture_names).collect(),
        ArgumentValue::Buffer(_)
        | ArgumentValue::Scalar { .. }
        | ArgumentValue::Bytes(_)
        | ArgumentValue::TensorMap(_) => Vec::new(),
    }
}

struct Resolver<'a> {
    source: &'a SourceText,
}

impl Resolver<'_> {
    fn anchor(&self, range: std::ops::Range<usize>) -> Anchor {
        Anchor { source: self.source.clone(), range }
    }

    fn timing(&self, word: &Spanned<String>) -> Result<Timing, Report> {
        let wrong = |error: UnknownTiming| self.source.report(word.span(), error.to_string());
        word.get_ref().parse().map_err(wrong)
    }

    fn texture(
        &self,
        name: &Spanned<String>,
        table: &TextureTable,
        buffers: &[Buffer],
    ) -> Result<PlannedTexture, Report> {
        let index = self.buffer_index(&table.buffer, name.span(), buffers)?;
        let buffer = (index, &buffers[index]);
        PlannedTexture::new(name.get_ref().clone(), table, buffer, self.anchor(name.span()))
    }

    fn buffer(&self, name: &Spanned<String>, table: &BufferTable) -> Result<Buffer, Report> {
        let ty = self.element_type(table.ty.get_ref(), table.ty.span())?;
        let len = checked_len(*table.len.get_ref(), ty)
            .map_err(|message| self.source.report(table.len.span(), message))?;
        let init = match &table.init {
            None => Init::Unstated,
            // `members` fills it.
            Some(value) if matches!(value.get_ref(), InitValue::Struct(_)) => Init::Zero,
            Some(value) => {
                let init = self.init(value)?;
                init.check(ty, len)
                    .map_err(|error| self.source.report(value.span(), error.to_string()))?;
                init
            }
        };
        let name = (name.get_ref().clone(), name.span());
        let (pointers, anchor) = (Vec::new(), self.anchor(name.1));
        Ok(Buffer { name: name.0, ty, len, init, pointers, anchor })
    }

    /// Fills the buffer at `index` with its members, if it has some.
    fn members(
        &self,
        index: usize,
        table: &BufferTable,
        buffers: &mut [Buffer],
        textures: &[PlannedTexture],
    ) -> Result<(), Report> {
        let Some(value) = &table.init else { return Ok(()) };
        let InitValue::Struct(members) = value.get_ref() else { return Ok(()) };
        let structure = self.structure(members, value.span(), buffers, textures, 0)?;
        let (given, holds) = (structure.size_bytes() as u64, buffers[index].bytes());
        if given != holds {
            let message = format!("the members take {given} bytes, and the buffer has {holds}");
            let size = buffers[index].ty.bytes() as u64;
            let hint = given.is_multiple_of(size).then(|| format!("write len = {}", given / size));
            return Err(self.source.report(value.span(), message).maybe_hint(hint));
        }
        let (bytes, pointers) = structure.into_parts();
        buffers[index].init = Init::Bytes(bytes.into());
        buffers[index].pointers = pointers;
        Ok(())
    }

    fn symbol(&self, name: &Spanned<String>, table: &SymbolTable) -> Result<Symbol, Report> {
        let ty = self.element_type(table.ty.get_ref(), table.ty.span())?;
        let len = table.len.as_ref().map(|len| {
            checked_len(*len.get_ref(), ty)
                .map_err(|message| self.source.report(len.span(), message))
        });
        let init = self.init(&table.init)?;
        let len = match (len.transpose()?, &init) {
            // A list of values gives its own length.
            (None, Init::Values(values)) => Some(values.len()),
            (len, _) => len,
        };
        if let Some(len) = len {
            init.check(ty, len)
                .map_err(|error| self.source.report(table.init.span(), error.to_string()))?;
        }
        let anchor = self.anchor(name.span());
        Ok(Symbol { name: name.get_ref().clone(), ty, len, init, anchor })
    }

    fn init(&self, value: &Spanned<InitValue>) -> Result<Init, Report> {
        Ok(match value.get_ref() {
            InitValue::Zero => Init::Zero,
            InitValue::Iota => Init::Iota,
            InitValue::Constant(Number(value)) => Init::Constant(*value),
            InitValue::Values(values) => Init::Values(values.iter().map(|value| value.0).collect()),
            InitValue::Uniform(uniform) => {
                Init::Uniform { low: uniform.low.0, high: uniform.high.0, seed: uniform.seed }
            }
            InitValue::Generator(table) => {
                let name = table.name.get_ref();
                if generator::generator(name).is_none() {
                    let known = generator::GENERATORS.iter().map(|generator| generator.name);
                    return Err(self
                        .source
                        .report(table.name.span(), format!("there is no generator `{name}`"))
                        .maybe_hint(suggest(name, known)));
                }
                Init::Generator { name: name.clone(), shape: table.shape.clone() }
            }
            InitValue::File(path) => Init::File(path.into()),
            InitValue::Struct(_) => {
                let message = "a variable is filled before buffers have addresses";
                return Err(self
                    .source
                    .report(value.span(), message)
                    .hint("a kernel gets members in a buffer or as an argument"));
            }
        })
    }

    fn element_type(
        &self,
        name: &str,
        range: std::ops::Range<usize>,
    ) -> Result<ElementType, Report> {
        ElementType::named(name).ok_or_else(|| {
            self.source
                .report(range, format!("there is no type `{name}`"))
                .maybe_hint(type_name::hint(name))
        })
    }

    fn launch(
        &self,
        table: &Spanned<LaunchTable>,
        buffers: &[Buffer],
        textures: &[PlannedTexture],
    ) -> Result<PlannedLaunch, Report> {
        let launch = self.anchor(self.header(table.span()));
        let table = table.get_ref();
        let repeat = match &table.repeat {
            Some(repeat) if *repeat.get_ref() == 0 => {
                return Err(self
                    .source
                    .report(repeat.span(), "a launch is made at least once")
                    .hint("leave the table out to skip it"));
            }
            Some(repeat) if *repeat.get_ref() > MOST_REPETITIONS => {
                return Err(self
                    .source
                    .report(
                        repeat.span(),
                        format!("a launch is repeated at most {MOST_REPETITIONS} times"),
                    )
                    .hint("a profile is the mean of all repetitions; a few are as good as many"));
            }
            Some(repeat) => *repeat.get_ref(),
            None => 1,
        };
        let arguments = table
            .args
            .iter()
            .map(|argument| self.argument(argument, buffers, textures, 0))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(PlannedLaunch {
            kernel: table.kernel.get_ref().clone(),
            grid: *table.grid.get_ref(),
            beyond_cuda: table.beyond_cuda,
            block: *table.block.get_ref(),
            cluster: table.cluster.as_ref().map(|cluster| *cluster.get_ref()),
            shared_bytes: table.shared_bytes.as_ref().map_or(0, |bytes| *bytes.get_ref()),
            repeat,
            arguments,
            kernel_anchor: self.anchor(table.kernel.span()),
            places: LaunchPlaces {
                launch,
                grid: self.anchor(table.grid.span()),
                block: self.anchor(table.block.span()),
                cluster: table.cluster.as_ref().map(|cluster| self.anchor(cluster.span())),
                shared_bytes: table.shared_bytes.as_ref().map(|bytes| self.anchor(bytes.span())),
                arguments: table.args.iter().map(|arg| self.anchor(arg.span())).collect(),
            },
        })
    }

    /// An argument or, at a `depth` above 0, a member of a structure.
    fn argument(
        &self,
        argument: &Spanned<ArgumentValue>,
        buffers: &[Buffer],
        textures: &[PlannedTexture],
        depth: usize,
    ) -> Result<PlannedArgument, Report> {
        let wrong = |message: String| self.source.report(argument.span(), message);
        Ok(match argument.get_ref() {
            ArgumentValue::Buffer(name) => {
                PlannedArgument::Pointer(self.pointer(name, argument.span(), buffers)?)
            }
            ArgumentValue::Scalar { ty, value } => {
                let ty = self.element_type(ty, argument.span())?;
                let bits = ty.encode(*value).map_err(|error| wrong(error.to_string()))?;
                PlannedArgument::Scalar { ty, bits }
            }
            ArgumentValue::Bytes(text) => {
                let bytes = parse_bytes(text).map_err(|message| {
                    wrong(message).hint("write them as in { bytes = \"0x00ff10\" }")
                })?;
                PlannedArgument::Structure(Structure::of_bytes(bytes))
            }
            ArgumentValue::TensorMap(table) => {
                let index = self.buffer_index(&table.buffer, argument.span(), buffers)?;
                let map = table.structure(index, buffers[index].bytes());
                PlannedArgument::Structure(map.map_err(wrong)?)
            }
            ArgumentValue::Texture(name) => {
                let index = textures.iter().position(|texture| texture.name == *name);
                let index = index.ok_or_else(|| {
                    let known = textures.iter().map(|texture| texture.name.as_str());
                    wrong(format!("there is no texture `{name}`")).maybe_hint(
                        suggest(name, known)
                            .or_else(|| Some(format!("describe it in [textures.{name}]"))),
                    )
                })?;
                PlannedArgument::texture(index)
            }
            ArgumentValue::Structure(members) => {
                let range = argument.span();
                PlannedArgument::Structure(
                    self.structure(members, range, buffers, textures, depth)?,
                )
            }
        })
    }

    /// A structure of these members, which stand in `range` of the text.
    fn structure(
        &self,
        members: &[Spanned<ArgumentValue>],
        range: std::ops::Range<usize>,
        buffers: &[Buffer],
        textures: &[PlannedTexture],
        depth: usize,
    ) -> Result<Structure, Report> {
        if members.is_empty() {
            return Err(self
                .source
                .report(range, "a structure has at least one member")
                .hint("write them as in { struct = [{ u32 = 5 }, \"buffer\"] }"));
        }
        if depth == DEEPEST {
            let message = format!("structures are at most {DEEPEST} deep");
            return Err(self.source.report(range, message));
        }
        let mut structure = Structure::new();
        for member in members {
            match self.argument(member, buffers, textures, depth + 1)? {
                PlannedArgument::Pointer(pointer) => structure.push_pointer(pointer),
                PlannedArgument::Scalar { ty, bits } => structure.push_scalar(ty, bits),
                PlannedArgument::Structure(inner) => structure.push(&inner),
            }
        }
        Ok(structure.finished())
    }

    /// The first line of a table's span: its header, which is enough to point at.
    fn header(&self, span: std::ops::Range<usize>) -> std::ops::Range<usize> {
        let text = self.source.text.get(span.clone()).unwrap_or_default();
        span.start..span.start + text.lines().next().map_or(0, str::len)
    }

    fn pointer(
        &self,
        text: &str,
        range: std::ops::Range<usize>,
        buffers: &[Buffer],
    ) -> Result<Pointer, Report> {
        Pointer::read(text, buffers).map_err(|error| match error {
            PointerError::Unknown(name) => self.no_buffer(&name, range, buffers),
            PointerError::Offset(message) => self.source.report(range, message),
        })
    }

    fn no_buffer(&self, name: &str, range: std::ops::Range<usize>, buffers: &[Buffer]) -> Report {
        let known = buffers.iter().map(|buffer| buffer.name.as_str());
        let declare = || format!("declare it: [buffers.{name}] with type, len and init");
        self.source
            .report(range, format!("there is no buffer `{name}`"))
            .hint(suggest(name, known).unwrap_or_else(declare))
    }

    fn buffer_index(
        &self,
        name: &str,
        range: std::ops::Range<usize>,
        buffers: &[Buffer],
    ) -> Result<usize, Report> {
        let index = buffers.iter().position(|buffer| buffer.name == name);
        index.ok_or_else(|| self.no_buffer(name, range, buffers))
    }

    fn expectation(
        &self,
        table: Spanned<ExpectTable>,
        buffers: &[Buffer],
    ) -> Result<Expectation, Report> {
        let range = self.header(table.span());
        let table = table.into_inner();
        let buffer = self.buffer_index(table.buffer.get_ref(), table.buffer.span(), buffers)?;
        let against = match (table.file, table.values, table.reference) {
            (Some(path), None, None) => Against::Contents(Init::File(path.into())),
            (None, Some(values), None) => {
                let contents =
                    Init::Values(values.into_iter().map(|Number(value)| value).collect());
                contents
                    .check(buffers[buffer].ty, buffers[buffer].len)
                    .map_err(|error| self.source.report(range.clone(), error.to_string()))?;
                Against::Contents(contents)
            }
            (None, None, Some(name)) => {
                if reference::reference(name.get_ref()).is_none() {
                    let known = reference::REFERENCES.iter().map(|reference| reference.name);
                    return Err(self
                        .source
                        .report(name.span(), format!("there is no reference `{}`", name.get_ref()))
                        .maybe_hint(suggest(name.get_ref(), known)));
                }
                Against::Reference(name.into_inner())
            }
            _ => {
                return Err(self
                    .source
                    .report(range, "an expectation needs one of file, values and reference"));
            }
        };
        let (rtol, atol) = (table.rtol.0, table.atol.0);
        Ok(Expectation { buffer, against, rtol, atol, anchor: self.anchor(range) })
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::failure::shown;
    use crate::input::launch_file;

    fn read(path: &Path) -> Result<Plan, Report> {
        let name = path.file_name().unwrap().to_str().unwrap();
        let source = SourceText::new(name, std::fs::read_to_string(path).unwrap());
        let module = SourceText::new("module.ptx", "");
        let file = launch_file::parse(&source)?;
        resolve(&source, file, module, PathBuf::new(), None)
    }

    #[test]
    fn valid_launch_files_become_plans() {
        insta::glob!("../../tests/launch-files/valid", "*.toml", |path| {
            let plan = read(path).unwrap();
            let parts = (&plan.buffers, &plan.launches, &plan.expectations);
            insta::assert_debug_snapshot!(parts);
        });
    }

    #[test]
    fn a_launch_file_says_what_launches_find_in_the_l2() {
        let text = |l2: &str| {
            format!(
                "module = \"m.ptx\"\n{l2}\n[[launch]]\nkernel = \"k\"\ngrid = [1, 1, 1]\n\
                 block = [1, 1, 1]\n"
            )
        };
        let plan = |l2: &str| {
            let source = SourceText::new("l2.toml", text(l2));
            let file = launch_file::parse(&source)?;
            resolve(&source, file, SourceText::new("m.ptx", ""), PathBuf::new(), None)
        };
        for (name, contents) in L2Contents::NAMED {
            assert_eq!(plan(&format!("l2 = \"{name}\"")).unwrap().l2, contents);
        }
        assert_eq!(plan("").unwrap().l2, L2Contents::Keep);
        assert!(shown(&plan("l2 = \"hot\"").unwrap_err()).contains("cold, keep, warm, repeated"));
    }

    #[test]
    fn a_launch_file_names_a_way_of_measuring() {
        let plan = |word: &str| {
            let text = format!(
                "module = \"m.ptx\"\ntiming = \"{word}\"\n[[launch]]\nkernel = \"k\"\n\
                 grid = [1, 1, 1]\nblock = [1, 1, 1]\n"
            );
            let source = SourceText::new("timing.toml", text);
            let file = launch_file::parse(&source)?;
            resolve(&source, file, SourceText::new("m.ptx", ""), PathBuf::new(), None)
        };
        for &timing in Timing::ALL {
            assert_eq!(plan(timing.name()).unwrap().timing, Some(timing));
        }
        let refused = shown(&plan("stopwatch").unwrap_err());
        assert!(refused.contains("timing.toml:2") && refused.contains("back-to-back"), "{refused}");
    }

    #[test]
    fn invalid_launch_files_are_refused_with_place_and_hint() {
        insta::glob!("../../tests/launch-files/invalid", "*.toml", |path| {
            let report = read(path).unwrap_err();
            insta::assert_snapshot!(shown(&report));
        });
    }
}
