//! The decoded code of a kernel and of everything that it can call, as basic blocks.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use gpucast_ptx_frontend::isa::InstructionClass;

use super::MachineError;
use super::image::Image;
use super::isa::{Decoded, Decoder, Flow, Guard, Region, Word};

/// A machine instruction with its place.
pub(super) struct Instruction {
    /// Index into [`Image::sections`].
    pub(super) section: usize,
    pub(super) offset: u64,
    pub(super) decoded: Decoded,
}

/// A way out of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Edge {
    /// The block that it leads to; `None` where threads leave the function.
    pub(super) to: Option<usize>,
    /// True if the block's last instruction takes this way when its guard is true.
    pub(super) taken: bool,
}

/// A run of instructions that is entered at its beginning and left at its end.
pub(super) struct Block {
    /// Indices into [`Code::instructions`].
    pub(super) instructions: Range<usize>,
    pub(super) edges: Vec<Edge>,
    /// The block that its last instruction calls, which every thread comes back from.
    pub(super) calls: Option<usize>,
}

/// The origin of the threads that come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The start of the kernel.
    Kernel,
    /// A function that is entered by known calls only.
    Calls,
    /// A function that may also be entered in ways that the code does not show.
    Unknown,
}

/// The code of a kernel.
pub(super) struct Code {
    pub(super) instructions: Vec<Instruction>,
    pub(super) blocks: Vec<Block>,
    /// The blocks that no edge leads to, with the origin of their threads.
    pub(super) roots: BTreeMap<usize, Source>,
    /// Jumps whose targets are not known, by their mnemonic.
    pub(super) unresolved: Vec<&'static str>,
    /// Instructions that the tables do not know.
    pub(super) unknown: Vec<Unknown>,
}

/// An opcode that the tables do not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unknown {
    pub(super) opcode: u64,
    /// The class that its instructions are assumed to have.
    pub(super) class: InstructionClass,
    /// Its instructions in the code.
    pub(super) count: usize,
}

impl Code {
    /// Decodes the kernel and the functions that it can call.
    pub(super) fn read(image: &Image<'_>) -> Result<Self, MachineError> {
        let decoder = Decoder::of(image.target)
            .ok_or_else(|| MachineError::UnknownTarget { target: image.target.to_string() })?;
        let mut builder = Builder::new(image, decoder);
        for section in called_sections(image) {
            builder.decode(section);
            // The kernel comes first: its first instruction is the first of all.
            if builder.instructions.is_empty() {
                let reason = "the kernel has no instructions".to_owned();
                return Err(MachineError::Image { reason });
            }
        }
        builder.tell_jumps_from_calls();
        Ok(builder.finish())
    }
}

/// The kernel, first, and the functions that its code refers to.
fn called_sections(image: &Image<'_>) -> Vec<usize> {
    let mut order = vec![image.kernel];
    let mut next = 0;
    while let Some(&section) = order.get(next) {
        for &(index, _) in image.sections[section].relocations.values() {
            let function = image.sections.iter().position(|section| section.index == index);
            if let Some(function) = function.filter(|&section| !image.sections[section].is_kernel)
                && !order.contains(&function)
            {
                order.push(function);
            }
        }
        next += 1;
    }
    order
}

/// Regions that are open, outermost first, with where each continues.
type Open = Vec<(Region, u64)>;

struct Builder<'i, 'a> {
    image: &'i Image<'a>,
    decoder: Decoder,
    instructions: Vec<Instruction>,
    /// Index of the instruction at a place.
    at: BTreeMap<(usize, u64), usize>,
    sections: Vec<usize>,
    unknown: Vec<Unknown>,
}

impl<'i, 'a> Builder<'i, 'a> {
    fn new(image: &'i Image<'a>, decoder: Decoder) -> Self {
        Self {
            image,
            decoder,
            instructions: Vec::new(),
            at: BTreeMap::new(),
            sections: Vec::new(),
            unknown: Vec::new(),
        }
    }

    fn decode(&mut self, section: usize) {
        let part = &self.image.sections[section];
        self.sections.push(section);
        for word in self.decoder.words(part.code) {
            let decoded = self.decoder.decode(word).unwrap_or_else(|| self.assume(word));
            self.at.insert((section, word.offset), self.instructions.len());
            self.instructions.push(Instruction { section, offset: word.offset, decoded });
        }
    }

    /// Takes an instruction that the tables do not know for one of the class of its neighbours.
    fn assume(&mut self, word: Word) -> Decoded {
        let assumed = self.decoder.assume(word);
        let opcode = self.decoder.opcode(word);
        let class = assumed.assumed.unwrap_or(InstructionClass::Misc);
        match self.unknown.iter_mut().find(|found| found.opcode == opcode) {
            Some(known) => known.count += 1,
            None => self.unknown.push(Unknown { opcode, class, count: 1 }),
        }
        assumed
    }

    /// The instruction at a place of a section.
    fn index(&self, section: usize, offset: u64) -> Option<usize> {
        self.at.get(&(section, self.decoder.first_at(offset))).copied()
    }

    /// The instruction that a relocation of this one refers to, if it is code.
    fn relocated(&self, instruction: &Instruction) -> Option<usize> {
        let relocations = &self.image.sections[instruction.section].relocations;
        let &(index, place) = relocations.get(&instruction.offset)?;
        let section = self.sections.iter().find(|&&one| self.image.sections[one].index == index)?;
        self.index(*section, place)
    }

    /// The instruction that a call goes to.
    fn callee(&self, instruction: &Instruction, place: Option<u64>) -> Option<usize> {
        self.relocated(instruction)
            .or_else(|| place.and_then(|place| self.index(instruction.section, place)))
    }

    fn jump_table(&self, instruction: &Instruction) -> Vec<usize> {
        let tables = &self.image.sections[instruction.section].jump_tables;
        let targets = tables.get(&instruction.offset).into_iter().flatten();
        let mut targets: Vec<usize> =
            targets.filter_map(|&target| self.index(instruction.section, target)).collect();
        targets.sort_unstable();
        targets.dedup();
        targets
    }

    /// Since Volta `ptxas` also leaves a loop by a `CALL` to code that never returns: those are
    /// jumps.
    fn tell_jumps_from_calls(&mut self) {
        let jumps: Vec<(usize, u64)> = self
            .instructions
            .iter()
            .enumerate()
            .filter_map(|(index, instruction)| {
                let Flow::Call(Some(place)) = instruction.decoded.flow else { return None };
                let is_known = self.relocated(instruction).is_none();
                let target = self.index(instruction.section, place).filter(|_| is_known)?;
                (!self.returns(target)).then_some((index, place))
            })
            .collect();
        for (index, place) in jumps {
            self.instructions[index].decoded.flow = Flow::Branch(Some(place));
        }
    }

    /// Returns true if threads that come to an instruction may return from its function, as far as
    /// jumps show. Calls come back.
    fn returns(&self, first: usize) -> bool {
        let section = self.instructions[first].section;
        let mut seen = BTreeSet::new();
        let mut open = vec![first];
        while let Some(at) = open.pop() {
            let Some(instruction) = self.instructions.get(at) else { continue };
            if instruction.section != section || !seen.insert(at) {
                continue;
            }
            let decoded = &instruction.decoded;
            let mut goes_on = decoded.conditional;
            match decoded.flow {
                Flow::Next | Flow::Push(..) | Flow::Call(_) => goes_on = true,
                Flow::Branch(Some(place)) => open.extend(self.index(section, place)),
                Flow::Exit => {}
                Flow::Pop(region) => {
                    // Wherever such a region continues.
                    let pushed = self
                        .instructions
                        .iter()
                        .filter(|instruction| instruction.section == section);
                    open.extend(pushed.filter_map(|instruction| match instruction.decoded.flow {
                        Flow::Push(other, place) if other == region => self.index(section, place),
                        _ => None,
                    }));
                    goes_on = true;
                }
                Flow::Indirect if !self.jump_table(instruction).is_empty() => {
                    open.extend(self.jump_table(instruction));
                }
                Flow::Return | Flow::Branch(None) | Flow::Indirect => return true,
            }
            if goes_on {
                open.push(at + 1);
            }
        }
        false
    }

    /// The instructions that begin a block.
    fn leaders(&self) -> BTreeSet<usize> {
        let mut leaders = BTreeSet::new();
        for &section in &self.sections {
            let functions = self.image.sections[section].functions.iter();
            leaders.extend(functions.filter_map(|&place| self.index(section, place)));
        }
        for (index, instruction) in self.instructions.iter().enumerate() {
            let section = instruction.section;
            let place = match instruction.decoded.flow {
                Flow::Next => continue,
                Flow::Push(_, place) => {
                    leaders.extend(self.index(section, place));
                    continue;
                }
                Flow::Branch(place) => place.and_then(|place| self.index(section, place)),
                Flow::Call(place) => self.callee(instruction, place),
                Flow::Indirect => {
                    leaders.extend(self.jump_table(instruction));
                    None
                }
                Flow::Return | Flow::Exit | Flow::Pop(_) => None,
            };
            leaders.extend(place);
            leaders.insert(index + 1);
        }
        // Code of another section never goes on from this one.
        for (index, pair) in self.instructions.windows(2).enumerate() {
            if pair[0].section != pair[1].section {
                leaders.insert(index + 1);
            }
        }
        leaders.insert(0);
        leaders.remove(&self.instructions.len());
        leaders
    }

    fn finish(self) -> Code {
        let leaders: Vec<usize> = self.leaders().into_iter().collect();
        let ends = leaders.iter().skip(1).copied().chain([self.instructions.len()]);
        let mut blocks: Vec<Block> = leaders
            .iter()
            .zip(ends)
            .map(|(&first, end)| Block { instructions: first..end, edges: Vec::new(), calls: None })
            .collect();
        let block_of = |instruction: usize| leaders.binary_search(&instruction).ok();

        // Functions whose address is taken may be called from anywhere.
        let mut roots = BTreeMap::from([(0, Source::Kernel)]);
        for instruction in &self.instructions {
            let is_call = matches!(instruction.decoded.flow, Flow::Call(_));
            if let Some(root) = self.relocated(instruction).and_then(block_of) {
                let source = if is_call { Source::Calls } else { Source::Unknown };
                let known = roots.entry(root).or_insert(source);
                if *known == Source::Calls {
                    *known = source;
                }
            }
        }

        let mut unresolved = Vec::new();
        let mut seen = vec![false; blocks.len()];
        let mut open: Vec<(usize, Open)> = roots.keys().map(|&root| (root, Open::new())).collect();
        while let Some((at, mut regions)) = open.pop() {
            if std::mem::replace(&mut seen[at], true) {
                continue;
            }
            let range = blocks[at].instructions.clone();
            for instruction in &self.instructions[range.clone()] {
                if let Flow::Push(region, place) = instruction.decoded.flow {
                    // A convergence barrier that is set anew forgets its last region.
                    if matches!(region, Region::Join(barrier) if barrier > 0) {
                        regions.retain(|&(one, _)| one != region);
                    }
                    regions.push((region, place));
                }
            }
            let Some(last) = self.instructions[range.clone()].last() else { continue };
            let same_section = |next: &usize| {
                self.instructions.get(*next).is_some_and(|n| n.section == last.section)
            };
            let next = Some(range.end).filter(same_section).and_then(block_of);
            let goes_on = Edge { to: next, taken: false };
            let jump = |place: u64| {
                let to = self.index(last.section, place).and_then(block_of);
                Edge { to, taken: true }
            };
            let leaves = Edge { to: None, taken: true };
            let mut after = regions.clone();
            let mut edges: Vec<Edge> = match last.decoded.flow {
                Flow::Next | Flow::Push(..) => vec![goes_on],
                Flow::Branch(Some(place)) => vec![jump(place)],
                Flow::Branch(None) | Flow::Return | Flow::Exit => vec![leaves],
                Flow::Call(place) => {
                    let callee = self.callee(last, place).and_then(block_of);
                    if let Some(callee) = callee {
                        roots.entry(callee).or_insert(Source::Calls);
                        open.push((callee, Open::new()));
                    }
                    blocks[at].calls = callee;
                    vec![Edge { taken: true, ..goes_on }]
                }
                Flow::Indirect => {
                    let targets = self.jump_table(last);
                    let returns = regions.iter().rev().find(|(one, _)| *one == Region::Return);
                    match (targets.is_empty(), returns) {
                        (false, _) => targets
                            .into_iter()
                            .map(|target| Edge { to: block_of(target), taken: true })
                            .collect(),
                        // A jump into a function that comes back to a place that was pushed.
                        (true, Some(&(_, place))) => vec![jump(place)],
                        (true, None) => {
                            unresolved.push(last.decoded.mnemonic);
                            vec![leaves]
                        }
                    }
                }
                Flow::Pop(region) => match regions.iter().rposition(|&(one, _)| one == region) {
                    Some(depth) => {
                        after.truncate(depth);
                        vec![jump(regions[depth].1)]
                    }
                    None => {
                        unresolved.push(last.decoded.mnemonic);
                        vec![Edge { taken: true, ..goes_on }]
                    }
                },
            };
            let is_conditional = last.decoded.conditional
                && !matches!(last.decoded.flow, Flow::Next | Flow::Call(_));
            if is_conditional && last.decoded.guard == Guard::Never {
                edges.clear();
            }
            open.extend(edges.iter().filter_map(|edge| Some((edge.to?, after.clone()))));
            if is_conditional {
                // Threads that go on have popped nothing.
                open.extend(next.map(|next| (next, regions)));
                edges.push(goes_on);
            }
            blocks[at].edges = edges;
        }
        // Blocks that nothing leads to have no edges, and no flow.
        Code { instructions: self.instructions, blocks, roots, unresolved, unknown: self.unknown }
    }
}
