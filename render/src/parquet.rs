//! Tables as Parquet: texts as UTF-8 strings, numbers as doubles, all of them optional.

use std::sync::Arc;

use gpucast_forecast::Report;
use gpucast_forecast::sweep::{Cell, Table};
use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

/// Rows that are written together.
const ROWS_OF_A_GROUP: usize = 1 << 17;

/// The whole file.
pub(crate) fn document(table: &Table) -> Result<Vec<u8>, Report> {
    write(table)
        .map_err(|error| Report::new(format!("cannot write the result as Parquet: {error}")))
}

fn write(table: &Table) -> Result<Vec<u8>, ParquetError> {
    let numeric: Vec<bool> = (0..table.columns.len()).map(|at| table.is_numeric(at)).collect();
    let fields = table.columns.iter().zip(&numeric).map(|(name, &numeric)| field(name, numeric));
    let schema = Type::group_type_builder("sweep")
        .with_fields(fields.collect::<Result<Vec<TypePtr>, _>>()?)
        .build()?;
    // The library's default names its own version, which would make files differ between builds.
    let properties = WriterProperties::builder()
        .set_compression(Compression::UNCOMPRESSED)
        .set_created_by("gpucast".to_owned())
        .build();
    let mut file = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut file, Arc::new(schema), Arc::new(properties))?;
    for rows in table.rows.chunks(ROWS_OF_A_GROUP) {
        let mut group = writer.next_row_group()?;
        let mut at = 0;
        while let Some(mut column) = group.next_column()? {
            let cells = || rows.iter().filter_map(|row| row.get(at));
            let levels: Vec<i16> = cells().map(|cell| i16::from(*cell != Cell::Empty)).collect();
            if numeric[at] {
                let reals = cells().filter_map(|cell| match cell {
                    Cell::Real(real) => Some(*real),
                    Cell::Empty | Cell::Text(_) => None,
                });
                let reals: Vec<f64> = reals.collect();
                column.typed::<DoubleType>().write_batch(&reals, Some(&levels), None)?;
            } else {
                let texts = cells().filter(|cell| **cell != Cell::Empty);
                let texts: Vec<ByteArray> =
                    texts.map(|cell| ByteArray::from(cell.plain().into_bytes())).collect();
                column.typed::<ByteArrayType>().write_batch(&texts, Some(&levels), None)?;
            }
            column.close()?;
            at += 1;
        }
        group.close()?;
    }
    writer.close()?;
    Ok(file)
}

fn field(name: &str, numeric: bool) -> Result<TypePtr, ParquetError> {
    let physical = if numeric { PhysicalType::DOUBLE } else { PhysicalType::BYTE_ARRAY };
    let logical = (!numeric).then_some(LogicalType::String);
    let builder = Type::primitive_type_builder(name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical);
    builder.build().map(Arc::new)
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};

    use super::*;

    /// The library's own reader gives back what was written, holes included.
    #[test]
    fn a_table_comes_back_as_it_was() {
        let table = Table {
            columns: ["gpu", "time_ms", "error"].map(str::to_owned).into(),
            rows: vec![
                vec![Cell::text("gtx-480"), Cell::Real(1.5), Cell::Empty],
                vec![Cell::text("größer"), Cell::Empty, Cell::text("no")],
            ],
        };
        let file = document(&table).unwrap();
        let reader = SerializedFileReader::new(bytes::Bytes::from(file)).unwrap();
        let rows: Vec<String> =
            reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
        assert_eq!(
            rows,
            [
                "{gpu: \"gtx-480\", time_ms: 1.5, error: null}",
                "{gpu: \"größer\", time_ms: null, error: \"no\"}"
            ]
        );
    }
}
