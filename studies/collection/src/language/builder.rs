//! How a generator writes a kernel.

use super::{
    Array, ArrayMemory, Caching, Contents, Expression, Index, Kernel, Loop, Parameter, Statement,
    Type, Unroll, Variable, VariableName,
};

/// The newest target whose features every kernel may use without saying so.
const USUAL_TARGET: u32 = 20;

/// The version of the PTX ISA that every kernel may use without saying so.
const USUAL_ISA: [u8; 2] = [6, 0];

/// A kernel that is being written.
#[derive(Debug)]
pub struct Builder {
    kernel: Kernel,
    /// The bodies that are open, from the kernel's own to the innermost.
    open: Vec<Vec<Statement>>,
}

impl Builder {
    /// Begins the kernel `name`.
    #[must_use]
    pub fn new(name: &str, summary: impl Into<String>) -> Self {
        let kernel = Kernel {
            name: name.to_owned(),
            summary: summary.into(),
            parameters: Vec::new(),
            arrays: Vec::new(),
            variables: Vec::new(),
            body: Vec::new(),
            grid: [1; 3],
            block: [1; 3],
            cluster: 1,
            kept: None,
            oldest_target: USUAL_TARGET,
            newest_target: None,
            oldest_isa: USUAL_ISA,
        };
        Self { kernel, open: vec![Vec::new()] }
    }

    /// Declares a buffer that the kernel reads.
    pub fn input(&mut self, name: &str, ty: Type, len: u64, contents: Contents) -> Array {
        self.buffer(Array { name: name.to_owned(), ty, len, place: ArrayMemory::Input(contents) })
    }

    /// Declares a buffer that the kernel writes.
    pub fn output(&mut self, name: &str, ty: Type, len: u64) -> Array {
        self.buffer(Array { name: name.to_owned(), ty, len, place: ArrayMemory::Output })
    }

    fn buffer(&mut self, array: Array) -> Array {
        self.kernel.parameters.push(Parameter::Buffer(array.clone()));
        array
    }

    /// Declares a parameter of type `s32`, and its value in the launch.
    pub fn scalar(&mut self, name: &str, value: u64) -> Expression {
        let variable = self.new_variable(name, Type::S32, false);
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        self.kernel.parameters.push(Parameter::Scalar { variable, value });
        variable.into()
    }

    /// Declares a texture of a buffer that the launch has besides, and returns its handle.
    pub fn texture(&mut self, name: &str, ty: Type, len: u64, contents: Contents) -> Expression {
        let variable = self.new_variable(name, Type::U64, false);
        let place = ArrayMemory::Input(contents);
        let texels = Array { name: format!("{name}_texels"), ty, len, place };
        self.kernel.parameters.push(Parameter::Texture { variable, texels });
        variable.into()
    }

    /// Declares an array in shared memory.
    pub fn shared(&mut self, name: &str, ty: Type, len: u64) -> Array {
        self.array(Array { name: name.to_owned(), ty, len, place: ArrayMemory::Shared })
    }

    /// Declares an array in constant memory.
    pub fn constant(&mut self, name: &str, ty: Type, len: u64, contents: Contents) -> Array {
        self.array(Array { name: name.to_owned(), ty, len, place: ArrayMemory::Constant(contents) })
    }

    fn array(&mut self, array: Array) -> Array {
        self.kernel.arrays.push(array.clone());
        array
    }

    /// Says that the kernel needs `sm_TARGET` or a later one.
    pub fn needs_target(&mut self, target: u32) {
        self.kernel.oldest_target = self.kernel.oldest_target.max(target);
    }

    /// Says that the kernel uses features of single architectures, which `sm_TARGET` is the last to
    /// have.
    pub fn uses_features_until(&mut self, target: u32) {
        self.kernel.newest_target = Some(target);
    }

    /// Says that the kernel runs in clusters of so many blocks along the first axis.
    pub fn in_clusters(&mut self, blocks: u32) {
        const OLDEST_WITH_CLUSTERS: u32 = 90;
        self.kernel.cluster = blocks;
        self.needs_target(OLDEST_WITH_CLUSTERS);
    }

    /// Says that the kernel needs a version of the PTX ISA, or a later one.
    pub fn needs_isa(&mut self, version: [u8; 2]) {
        self.kernel.oldest_isa = self.kernel.oldest_isa.max(version);
    }

    /// The thread's index in its block, along an axis.
    #[must_use]
    pub fn thread(&self, axis: u8) -> Expression {
        Expression::Index(Index::Thread(axis))
    }

    /// The block's index in the grid, along an axis.
    #[must_use]
    pub fn block(&self, axis: u8) -> Expression {
        Expression::Index(Index::Block(axis))
    }

    /// The thread's index in a grid along x.
    #[must_use]
    pub fn thread_of_grid(&self) -> Expression {
        self.block(0) * Expression::Index(Index::BlockSize(0)) + self.thread(0)
    }

    /// Names a value.
    pub fn name(&mut self, name: &str, value: Expression) -> Expression {
        let variable = self.new_variable(name, value.ty(), false);
        self.push(Statement::Declare { variable, value });
        variable.into()
    }

    /// Declares a variable with its first value.
    pub fn variable(&mut self, name: &str, value: Expression) -> Variable {
        let variable = self.new_variable(name, value.ty(), true);
        self.push(Statement::Declare { variable, value });
        variable
    }

    /// Gives a variable another value.
    pub fn assign(&mut self, variable: Variable, value: Expression) {
        self.push(Statement::Assign { variable, value });
    }

    /// Loads an element and names it.
    pub fn load(&mut self, name: &str, array: &Array, index: Expression) -> Expression {
        self.load_through(Caching::Usual, name, array, index)
    }

    /// As [`load`](Self::load), and says which caches keep it.
    pub fn load_through(
        &mut self,
        caching: Caching,
        name: &str,
        array: &Array,
        index: Expression,
    ) -> Expression {
        self.of_half_precision(array.ty);
        let variable = self.new_variable(name, array.ty, false);
        let array = array.clone();
        self.push(Statement::Load { into: vec![variable], declares: true, array, index, caching });
        variable.into()
    }

    /// Loads an element into a variable.
    pub fn load_into(
        &mut self,
        variable: Variable,
        array: &Array,
        index: Expression,
        caching: Caching,
    ) {
        let array = array.clone();
        let into = vec![variable];
        self.push(Statement::Load { into, declares: false, array, index, caching });
    }

    /// Loads `width` consecutive elements in one access, and returns them.
    pub fn load_vector(
        &mut self,
        name: &str,
        array: &Array,
        index: Expression,
        width: u64,
    ) -> Vec<Expression> {
        self.load_vector_through(Caching::Usual, name, array, index, width)
    }

    /// As [`load_vector`](Self::load_vector), and says which caches keep it.
    pub fn load_vector_through(
        &mut self,
        caching: Caching,
        name: &str,
        array: &Array,
        index: Expression,
        width: u64,
    ) -> Vec<Expression> {
        if width == 1 {
            return vec![self.load_through(caching, name, array, index)];
        }
        self.of_half_precision(array.ty);
        let parts = ["x", "y", "z", "w"].iter().take(usize::try_from(width).unwrap_or(4));
        let into: Vec<Variable> = parts
            .map(|part| self.new_variable(&format!("{name}.{part}"), array.ty, false))
            .collect();
        let values = into.iter().copied().map(Expression::from).collect();
        let array = array.clone();
        self.push(Statement::Load { into, declares: true, array, index, caching });
        values
    }

    /// Stores a value.
    pub fn store(&mut self, array: &Array, index: Expression, value: Expression) {
        self.store_vector(array, index, vec![value]);
    }

    /// Stores values in consecutive elements in one access.
    pub fn store_vector(&mut self, array: &Array, index: Expression, values: Vec<Expression>) {
        self.of_half_precision(array.ty);
        self.push(Statement::Store { array: array.clone(), index, values });
    }

    /// Changes an element atomically.
    pub fn reduce(
        &mut self,
        operation: &'static str,
        array: &Array,
        index: Expression,
        value: Expression,
    ) {
        self.push(Statement::Reduce { operation, array: array.clone(), index, value });
    }

    /// Lets all threads of the block wait for each other.
    pub fn barrier(&mut self) {
        self.push(Statement::Barrier);
    }

    /// Writes an instruction that CUDA has no word for.
    pub fn assembly(&mut self, ptx: &str, outputs: &[Variable], inputs: &[Expression]) {
        let (outputs, inputs) = (outputs.to_vec(), inputs.to_vec());
        self.push(Statement::Assembly { ptx: ptx.to_owned(), outputs, inputs });
    }

    /// Repeats steps `times` times, at least once.
    pub fn repeat(&mut self, name: &str, times: u64, unroll: Unroll, body: impl FnOnce(&mut Self)) {
        let times = i64::try_from(times).unwrap_or(i64::MAX);
        let to = Expression::Integer(times, Type::S32);
        self.count(name, to, 1, unroll, |kernel, _| body(kernel));
    }

    /// Counts from zero to `to` in steps, with a body that sees the counter.
    pub fn count(
        &mut self,
        name: &str,
        to: Expression,
        step: i64,
        unroll: Unroll,
        body: impl FnOnce(&mut Self, Expression),
    ) {
        let variable = self.new_variable(name, Type::S32, true);
        self.open.push(Vec::new());
        body(self, variable.into());
        let body = self.open.pop().unwrap_or_default();
        self.push(Statement::Loop(Loop { variable, from: 0, to, step, unroll, body }));
    }

    /// Steps of the threads that satisfy a condition.
    pub fn when(&mut self, condition: Expression, body: impl FnOnce(&mut Self)) {
        self.open.push(Vec::new());
        body(self);
        let body = self.open.pop().unwrap_or_default();
        self.push(Statement::If { condition, body });
    }

    /// Ends the kernel and says how it is launched.
    #[must_use]
    pub fn launched(mut self, grid: [u64; 3], block: [u64; 3]) -> Kernel {
        let extent =
            |extent: [u64; 3]| extent.map(|extent| u32::try_from(extent).unwrap_or(u32::MAX));
        self.kernel.grid = extent(grid);
        self.kernel.block = extent(block);
        self.kernel.body = self.open.swap_remove(0);
        self.kernel
    }

    /// Arithmetic of half precision came with `sm_53`.
    fn of_half_precision(&mut self, ty: Type) {
        if ty == Type::F16 {
            self.needs_target(53);
        }
    }

    fn new_variable(&mut self, name: &str, ty: Type, changes: bool) -> Variable {
        let number = self.kernel.variables.len();
        self.kernel.variables.push(VariableName { name: name.to_owned(), changes });
        Variable { number, ty }
    }

    fn push(&mut self, statement: Statement) {
        if let Some(body) = self.open.last_mut() {
            body.push(statement);
        }
    }
}
