//! Tables that data frames read without a copy of theirs or a library of ours: the Arrow C stream.
//!
//! <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>

use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, Float64Array, RecordBatch, RecordBatchIterator, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use gpucast_forecast::sweep::{Cell, Table as Rectangle};
use gpucast_render::sweep::{TableFormat, document};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::failure;

/// Named columns of texts or numbers.
#[pyclass(frozen, module = "gpucast._gpucast")]
pub(crate) struct Table(Rectangle);

impl From<Rectangle> for Table {
    fn from(table: Rectangle) -> Self {
        Self(table)
    }
}

/// A cell as Python has it.
#[derive(FromPyObject, IntoPyObject)]
enum Value {
    Real(f64),
    Text(String),
}

impl Value {
    fn of(cell: &Cell) -> Option<Self> {
        match cell {
            Cell::Empty => None,
            Cell::Text(text) => Some(Self::Text(text.to_string())),
            Cell::Real(real) => Some(Self::Real(*real)),
        }
    }

    fn into_cell(value: Option<Self>) -> Cell {
        match value {
            None => Cell::Empty,
            Some(Self::Text(text)) => Cell::text(&text),
            Some(Self::Real(real)) => Cell::Real(real),
        }
    }
}

impl Table {
    /// A column of numbers is one of doubles; every other one is of texts.
    fn batch(&self) -> Result<RecordBatch, ArrowError> {
        let Self(table) = self;
        let mut fields = Vec::new();
        let mut arrays: Vec<ArrayRef> = Vec::new();
        for (at, name) in table.columns.iter().enumerate() {
            let cells = table.rows.iter().map(|row| row.get(at).unwrap_or(&Cell::Empty));
            let (array, ty): (ArrayRef, DataType) = match table.is_numeric(at) {
                true => {
                    let numbers = cells.map(|cell| match cell {
                        Cell::Real(real) => Some(*real),
                        Cell::Empty | Cell::Text(_) => None,
                    });
                    (Arc::new(numbers.collect::<Float64Array>()), DataType::Float64)
                }
                false => {
                    let texts = cells.map(|cell| match cell {
                        Cell::Empty => None,
                        cell => Some(cell.plain()),
                    });
                    (Arc::new(texts.collect::<StringArray>()), DataType::Utf8)
                }
            };
            fields.push(Field::new(name, ty, true));
            arrays.push(array);
        }
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
    }
}

#[pymethods]
impl Table {
    /// A table of columns' names and rows of texts, numbers and `None`.
    #[new]
    fn new(columns: Vec<String>, rows: Vec<Vec<Option<Value>>>) -> PyResult<Self> {
        if rows.iter().any(|row| row.len() != columns.len()) {
            return Err(PyValueError::new_err(
                "a row has more or fewer cells than there are columns",
            ));
        }
        let rows = rows.into_iter().map(|row| row.into_iter().map(Value::into_cell).collect());
        Ok(Self(Rectangle { columns, rows: rows.collect() }))
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.0.columns.clone()
    }

    /// The rows, each with a text, a number or `None` for every column.
    fn rows(&self) -> Vec<Vec<Option<Value>>> {
        self.0.rows.iter().map(|row| row.iter().map(Value::of).collect()).collect()
    }

    fn __len__(&self) -> usize {
        self.0.rows.len()
    }

    /// What `gpucast sweep --format csv` writes.
    fn csv(&self, py: Python<'_>) -> PyResult<String> {
        self.document(py, TableFormat::Csv)
    }

    /// What `gpucast sweep` prints.
    fn text(&self, py: Python<'_>) -> PyResult<String> {
        self.document(py, TableFormat::Text)
    }

    /// The table as an Arrow stream, for `pandas.DataFrame.from_arrow`, `polars.DataFrame` and
    /// others. The schema is always the table's own.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface leaves it to the exporter whether it casts.
        drop(requested_schema);
        let wrong = |error: ArrowError| PyValueError::new_err(error.to_string());
        let batch = self.batch().map_err(wrong)?;
        let schema = batch.schema();
        let batches = RecordBatchIterator::new([Ok(batch)], schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

impl Table {
    fn document(&self, py: Python<'_>, format: TableFormat) -> PyResult<String> {
        let bytes = document(&self.0, format).map_err(|failure| failure::raised(py, failure))?;
        String::from_utf8(bytes).map_err(|error| PyValueError::new_err(error.to_string()))
    }
}
